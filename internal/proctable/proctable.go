// Package proctable reads the operating system's table of processes.
//
// It has one job: to answer "who is there, who is whose child, and in which
// state", and to reach exactly the process that an answer was about, without an
// opinion about what to do. procgroup and
// leakcheck call it; it calls nothing of this module.
//
// A process is identified by the pair (PID, Start), never by the PID alone:
// a PID is reused, the pair is not.
package proctable

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrNoProcess is returned by [Lookup] for a PID that nobody has.
var ErrNoProcess = os.ErrProcessDone

// ErrIncomplete is returned, wrapped with the reason, where the table cannot
// be read in full. A checker must not take a partial table for an empty one.
var ErrIncomplete = errors.New("process table cannot be read")

// State is the scheduling state of a process in words.
type State string

// The states that this module tells apart.
const (
	Running  State = "running"
	Sleeping State = "sleeping"
	Blocked  State = "blocked" // uninterruptible: a signal, KILL included, waits
	Stopped  State = "stopped"
	Zombie   State = "zombie"
	Unknown  State = "unknown"
)

// ID identifies a process for as long as the machine is up.
type ID struct {
	PID   int
	Start uint64
}

// Process is one row of the table. PGID and SID are 0 where the system has no
// such notion (Windows) or does not tell (a zombie on macOS).
type Process struct {
	PID, PPID, PGID, SID int
	State                State

	// Start orders processes by age and tells two holders of one PID apart.
	// Its unit is the system's own; see [Process.Started] for a time.
	Start uint64

	kernel   bool // a thread of the kernel: no program, no environment
	headless bool // its main thread has ended, and shows nothing any more; others run on
}

// ID returns the identity of p.
func (p Process) ID() ID { return ID{p.PID, p.Start} }

// Alive reports whether p still runs or could run: anything but a zombie.
// Signal 0 cannot tell: it succeeds on zombies.
func (p Process) Alive() bool { return p.State != Zombie }

// Started returns the time p was started, to the precision of the system.
func (p Process) Started() time.Time { return startTime(p.Start) }

// List returns every process that the caller may see, in no special order. Where
// that is not all of them it returns those, and [ErrIncomplete] as well.
// The error wraps [ErrIncomplete] where the table is missing or not the one
// that the caller itself is in.
func List() ([]Process, error) { return list() }

// Lookup returns the row of one process. The error is [ErrNoProcess] where
// nobody has that PID.
func Lookup(pid int) (Process, error) { return lookup(pid) }

// Argv returns the argument vector of a process, or its name in brackets
// where the vector is gone or hidden (zombies, processes of other users).
func Argv(pid int) []string { return argv(pid) }

// Signal signals one process and nobody else: not a later holder of its number.
// The error is [ErrNoProcess] where that process is gone.
func Signal(id ID, sig syscall.Signal) error {
	if id.PID <= 1 {
		return ErrNoProcess // to kill(2), 0 and below are groups
	}
	err := signalID(id, sig)
	if errors.Is(err, syscall.ESRCH) {
		return ErrNoProcess
	}
	return err
}

// same reports, as an error, that the number of id has another holder or none.
func same(id ID) error {
	p, err := Lookup(id.PID)
	if err != nil {
		return err
	}
	if p.ID() != id {
		return ErrNoProcess
	}
	return nil
}

// Descendants returns the rows of all that descend from the roots, parents
// before children, the roots themselves excluded.
func Descendants(all []Process, roots ...int) []Process {
	children := make(map[int][]int, len(all))
	for i, p := range all {
		children[p.PPID] = append(children[p.PPID], i)
	}
	var found []Process
	seen := make(map[int]bool) // pid 0 is its own parent on some systems
	for _, pid := range roots {
		seen[pid] = true
	}
	for queue := slices.Clone(roots); len(queue) > 0; queue = queue[1:] {
		for _, i := range children[queue[0]] {
			if p := all[i]; !seen[p.PID] {
				seen[p.PID] = true
				found = append(found, p)
				queue = append(queue, p.PID)
			}
		}
	}
	return found
}

// Adopters are those to whom an orphan can come: pid 1, or a subreaper above this
// process.
func Adopters(all []Process) map[int]bool {
	parent := make(map[int]int, len(all))
	for _, p := range all {
		parent[p.PID] = p.PPID
	}
	up := map[int]bool{1: true}
	for pid := parent[os.Getpid()]; pid > 1 && !up[pid]; pid = parent[pid] {
		up[pid] = true
	}
	return up
}

// splitArgs cuts a NUL-separated vector, as Linux and the BSDs deliver it.
func splitArgs(raw string) []string {
	raw = strings.TrimRight(raw, "\x00")
	if raw == "" {
		return nil
	}
	return strings.Split(raw, "\x00")
}
