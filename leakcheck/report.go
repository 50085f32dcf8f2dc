package leakcheck

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// A Leak is one process that was left behind.
type Leak struct {
	PID, PPID, PGID int
	State           string // "running", "sleeping", "blocked", "stopped", "zombie"
	Start           time.Time
	Argv            []string // nil where the system does not show it
	How             string   // the angle it was found from

	id proctable.ID
}

func newLeak(p proctable.Process, how string) Leak {
	return Leak{
		PID: p.PID, PPID: p.PPID, PGID: p.PGID,
		State: string(p.State),
		Start: p.Started(),
		Argv:  proctable.Argv(p.PID),
		How:   how,
		id:    p.ID(),
	}
}

// LeakError lists the processes that were left behind.
type LeakError struct {
	Leaks []Leak
}

// The bounds of a report. A fork bomb must not flood the log of a build.
const (
	mostLeaks = 64
	mostArgv  = 200 // bytes
)

// Error has one line for each process, indented below its parent where that
// was left behind too.
func (e *LeakError) Error() string { return e.tree(time.Now()) }

func (e *LeakError) tree(now time.Time) string {
	var b strings.Builder
	noun := "processes were"
	if len(e.Leaks) == 1 {
		noun = "process was"
	}
	fmt.Fprintf(&b, "leakcheck: %d %s left behind:", len(e.Leaks), noun)

	children := make(map[int][]int)
	leaked := make(map[int]bool)
	for _, l := range e.Leaks {
		leaked[l.PID] = true
	}
	var roots []int
	for i, l := range e.Leaks {
		if leaked[l.PPID] {
			children[l.PPID] = append(children[l.PPID], i)
		} else {
			roots = append(roots, i)
		}
	}
	lines := 0
	var write func(indices []int, depth int)
	write = func(indices []int, depth int) {
		for _, i := range indices {
			if lines++; lines <= mostLeaks {
				b.WriteString("\n    " + strings.Repeat("  ", min(depth, 8)) + e.Leaks[i].line(now))
			}
			write(children[e.Leaks[i].PID], depth+1)
		}
	}
	write(roots, 0)
	if lines > mostLeaks {
		fmt.Fprintf(&b, "\n    and %d more", lines-mostLeaks)
	}
	return b.String()
}

// String describes one process in one line.
func (l Leak) String() string { return l.line(time.Now()) }

func (l Leak) line(now time.Time) string {
	argv := "?"
	if len(l.Argv) > 0 {
		argv = quoted(l.Argv)
	}
	return fmt.Sprintf("pid %d  ppid %d  pgid %d  %s  for %v  (%s)  %s",
		l.PID, l.PPID, l.PGID, l.State, now.Sub(l.Start).Round(10*time.Millisecond), l.How, argv)
}

// quoted shows arguments as far as there is room. No control character of theirs, and
// none that changes the direction of a text, reaches a terminal.
func quoted(argv []string) string {
	var b strings.Builder
	for i, arg := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Quote(arg[:min(len(arg), mostArgv)]))
		if b.Len() > mostArgv {
			return strings.ToValidUTF8(b.String()[:mostArgv], "") + "..."
		}
	}
	return b.String()
}

// pids lists the numbers of the first few leaks.
func pids(leaks []Leak) string {
	var list []string
	for _, l := range leaks[:min(len(leaks), 8)] {
		list = append(list, fmt.Sprintf("pid %d", l.PID))
	}
	return strings.Join(list, ", ")
}
