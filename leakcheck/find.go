package leakcheck

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stdioguard/stdioguard/internal/guardian"
	"github.com/stdioguard/stdioguard/internal/proctable"
)

const (
	// killBound is how long what was found may take to vanish after it was killed.
	killBound = 2 * time.Second

	// firstStep and lastStep are the pauses between two looks.
	firstStep = time.Millisecond
	lastStep  = 50 * time.Millisecond
)

// origin is this process as it was at init: its session and its group, before a test
// could change them.
var origin, _ = proctable.Lookup(os.Getpid())

// killed remembers whom a check has killed. A child of ours stays a zombie until
// the test process waits for it, and must not be charged to the next test.
var killed = struct {
	sync.Mutex
	ids map[proctable.ID]bool
}{ids: make(map[proctable.ID]bool)}

// search is a series of looks for the same processes.
type search struct {
	*config
	scope
	seen map[proctable.ID]int // who was found at the look before, and his parent then
}

// scope says, by their tokens, which processes are looked for.
type scope struct {
	only   func(tokens []string) bool // nil: all that this process has caused
	except func(tokens []string) bool // nil: none
}

func newSearch(s scope, opts []Option) *search {
	return &search{config: newConfig(opts), scope: s, seen: make(map[proctable.ID]int)}
}

// run looks until nobody is there, or the settle time is over.
func (s *search) run() error {
	begin := time.Now()
	over := func(looks int) bool {
		spent := time.Since(begin)
		return spent > s.within && (looks >= s.looks || spent > patience)
	}
	doubts := begin.Add(proctable.UnsureBound)
	step := firstStep
	for looks := 1; ; looks++ {
		leaks, unsure, err := s.look()
		switch {
		case err != nil:
			return fmt.Errorf("leakcheck: cannot look: %w", err)
		case len(leaks) == 0 && (!unsure || time.Now().After(doubts)):
			return nil
		case len(leaks) > 0 && over(looks):
			return &LeakError{Leaks: leaks}
		}
		time.Sleep(step)
		step = min(2*step, lastStep)
	}
}

// look takes one look at the table.
func (s *search) look() (leaks []Leak, unsure bool, err error) {
	all, err := proctable.List()
	if err != nil {
		return nil, false, err
	}
	v := newView(all, os.Getpid())
	if known := knownStrangers.Load(); known != nil {
		v.known = *known
	}
	defer func() { knownStrangers.Store(&v.next) }()
	found := newFamily(v)
	only := s.only
	if only == nil {
		found.addOwn(s.seen, adoptsOrphans(v.me.PID))
		only = func(tokens []string) bool { return slices.Contains(tokens, token) }
	}
	if err := found.addCarriers(only); err != nil {
		return nil, false, err
	}
	found.addSeen(s.seen)
	found.addKin(origin)

	others := newFamily(v)
	if s.except != nil {
		if err := others.addCarriers(s.except); err != nil {
			return nil, false, err
		}
		others.addKin(origin)
	}
	leaks, err = s.judge(found, others)
	return leaks, found.unsure || others.unsure, err
}

// judge returns those found who are leaks, and remembers who was found.
func (s *search) judge(found, others *family) (leaks []Leak, err error) {
	clear(s.seen)
	for _, p := range found.members {
		if others.how[p.PID] != "" {
			continue
		}
		if p.Alive() {
			s.seen[p.ID()] = p.PPID
		}
		if s.ignored(p) || wasKilled(p) || janitor.is(p.ID()) {
			continue
		}
		e, err := found.environ(p)
		if err != nil {
			return nil, err
		}
		if sidecar(e.text) {
			continue
		}
		how := found.how[p.PID]
		if test := marks.owner(proctable.Tokens(e.text)); test != "" {
			how += ", marked by " + test
		}
		leaks = append(leaks, newLeak(p, how))
	}
	return leaks, nil
}

// sidecar tells of a process that is nobody's: the janitor of another test binary,
// which ends right after it; and what the go command starts to look after its
// statistics, which outlives it.
func sidecar(environ string) bool {
	for _, name := range []string{guardian.JanitorVar, guardian.ToolchainVar} {
		if _, found := proctable.Getenv(environ, name); found && os.Getenv(name) == "" {
			return true
		}
	}
	return false
}

func wasKilled(p proctable.Process) bool {
	killed.Lock()
	defer killed.Unlock()
	return !p.Alive() && killed.ids[p.ID()]
}

// verify finds, reports and kills. The report is empty if nothing was found.
func verify(s scope, opts []Option) (report string) {
	search := newSearch(s, opts)
	err := search.run()
	if err == nil {
		return ""
	}
	report = err.Error()
	var leak *LeakError
	if !errors.As(err, &leak) {
		return report
	}
	if search.keepAlive {
		for _, l := range leak.Leaks {
			janitor.spare(l.id)
		}
		return report
	}
	if left := search.kill(leak.Leaks); len(left) > 0 {
		report += "\nleakcheck: and could not be killed: " + pids(left)
	}
	return report
}

// kill kills the leaks, and returns those who live on. What was found may have
// children by now, so it looks and kills until quiet.
func (s *search) kill(leaks []Leak) (left []Leak) {
	for deadline := time.Now().Add(killBound); ; time.Sleep(firstStep) {
		signalAll(leaks)
		left, _, err := s.look()
		if err != nil || len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		leaks = left
	}
}

func signalAll(leaks []Leak) {
	killed.Lock()
	defer killed.Unlock()
	for _, l := range leaks {
		killed.ids[l.id] = true
		proctable.Signal(l.id, syscall.SIGKILL) // who cannot be killed is still reported
	}
}
