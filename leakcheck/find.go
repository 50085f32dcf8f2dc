package leakcheck

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// killBound is how long what was found may take to vanish after it was killed.
const killBound = 2 * time.Second

// killed remembers whom a check has killed. A child of ours stays a zombie until
// the test process waits for it, and must not be charged to the next test.
var killed = struct {
	sync.Mutex
	ids map[proctable.ID]bool
}{ids: make(map[proctable.ID]bool)}

// look takes one look at the table.
//
// unsure: nobody was found, but a process was seen that may be inside execve, where
// it has no environment. It tells at the next look.
func look(c *config) (leaks []Leak, unsure bool, err error) {
	all, err := proctable.List()
	if err != nil {
		return nil, false, fmt.Errorf("leakcheck: cannot look: %w", err)
	}
	self := os.Getpid()
	var me proctable.Process
	for _, p := range all {
		if p.PID == self {
			me = p
		}
	}

	adopters := proctable.Adopters(all)
	found := map[int]bool{self: true}
	add := func(p proctable.Process, how string) {
		if !found[p.PID] && !c.ignored(p) && !wasKilled(p) {
			leaks = append(leaks, newLeak(p, how))
		}
		found[p.PID] = true
	}
	for _, p := range proctable.Descendants(all, self) {
		switch {
		case p.PPID == self && !p.Alive():
			add(p, "zombie: started here, never waited for")
		case p.PPID == self:
			add(p, "child")
		case p.Alive(): // another's zombie is not ours to wait for
			add(p, "descendant")
		}
	}
	for _, p := range all {
		if !p.Alive() || p.Start < me.Start || found[p.PID] {
			continue
		}
		carries, err := proctable.Carrier(p, token)
		switch {
		case err != nil:
			return nil, false, fmt.Errorf("leakcheck: cannot look: %w", err)
		case carries == proctable.Yes:
			add(p, "orphan: carries the token of this process")
		case carries == proctable.Unsure && adopters[p.PPID]:
			unsure = true
		}
	}
	return leaks, unsure, nil
}

func wasKilled(p proctable.Process) bool {
	killed.Lock()
	defer killed.Unlock()
	return !p.Alive() && killed.ids[p.ID()]
}

// verify finds, reports and kills. The report is empty if nothing was found.
func verify(opts []Option) (report string) {
	err := Find(opts...)
	if err == nil {
		return ""
	}
	report = err.Error()
	c := newConfig(opts)
	var leak *LeakError
	if !errors.As(err, &leak) || c.keepAlive {
		return report
	}
	// What was found may have children by now, so look and kill until quiet.
	for deadline := time.Now().Add(killBound); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		kill(leak.Leaks)
		if leak.Leaks, _, err = look(c); err != nil || len(leak.Leaks) == 0 {
			break
		}
	}
	return report
}

func kill(leaks []Leak) {
	killed.Lock()
	defer killed.Unlock()
	for _, l := range leaks {
		killed.ids[l.id] = true
		proctable.Signal(l.id, syscall.SIGKILL) // who cannot be killed is still reported
	}
}
