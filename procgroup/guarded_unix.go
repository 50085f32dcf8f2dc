//go:build linux || darwin || freebsd

package procgroup

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

// guarded is the tree that a guardian owns: a process of its own between host and
// server, from package guardian. It is a child of the host, it does what it is
// told through the socket, and it ends, as the server ended, when the tree is gone.
// What it cannot do, because it was killed or stopped, the host does as well as it can.
type guarded struct {
	socket  *os.File
	process proctable.ID // of the guardian
	server  int
	census  *census
	ended   chan struct{} // closed when the guardian has ended

	cgroup   string        // directory of the server's control group, or ""
	noCgroup syscall.Errno // why there is none, where that was tried

	leader     chan struct{} // closed when the leader has ended
	leaderOnce sync.Once

	mu        sync.Mutex
	gone      bool // the guardian has seen the tree go
	survivors []guardian.Report
	quiet     time.Time // since when nobody but the guardian is alive
}

// finishBound is how long a guardian may outlive its tree. One that is stopped
// would do so for ever.
const finishBound = time.Second

var (
	errLost      = errors.New("its guardian was killed, and the server with it")
	errFinishing = fmt.Errorf("the guardian has not finished: %w", errUnsettled)
)

// listen ends with the guardian: its end of the socket closes, however it dies.
func (g *guarded) listen() {
	defer close(g.ended)
	defer g.leaderHasEnded()
	for {
		r, err := readReport(g.socket)
		if err != nil {
			return
		}
		g.mu.Lock()
		switch r.Kind {
		case guardian.Ended:
			g.leaderHasEnded()
		case guardian.Gone:
			g.gone = true
		case guardian.Survivor:
			g.survivors = append(g.survivors, r)
		}
		g.mu.Unlock()
	}
}

func (g *guarded) leaderHasEnded() { g.leaderOnce.Do(func() { close(g.leader) }) }

func (g *guarded) pid() int                     { return g.server }
func (g *guarded) leaderEnded() <-chan struct{} { return g.leader }
func (g *guarded) exited() <-chan struct{}      { return g.ended }

func (g *guarded) release() {
	g.socket.Close()
	if g.cgroup != "" && g.lost() != nil {
		os.Remove(g.cgroup) // its guardian has not
	}
}

func (g *guarded) containment() Containment {
	c := Containment{Mechanism: MechanismGuardian, Reach: ReachTree, HostDeath: true}
	if !guardian.Adopts {
		c.Reach = ReachGroup
		c.Gaps = append(c.Gaps,
			"a process that left the group, and whose parent ended within milliseconds, is found by its environment only, and not at all once the host is dead",
			"if the guardian and the host are both killed, all live on")
	}
	if g.cgroup != "" {
		c.Mechanism, c.Reach = MechanismCgroup, ReachAnyUser
	} else {
		if g.noCgroup != 0 {
			c.Gaps = append(c.Gaps, "no control group: "+g.noCgroup.Error())
		}
		if os.Geteuid() != 0 {
			c.Gaps = append(c.Gaps, "a process that has become another user can be found but not killed")
		}
	}
	c.Gaps = append(c.Gaps, gapDaemons)
	return c
}

func (g *guarded) hasEnded() bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

// lost: a guardian says goodbye, unless it was killed.
func (g *guarded) lost() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone || len(g.survivors) > 0 {
		return nil
	}
	return errLost
}

// signal asks the guardian, which has the leader's number pinned. Strays are its
// business too; but where a kill has left some, it is helped: it may be stopped.
func (g *guarded) signal(sig os.Signal, strays []proctable.Process) error {
	s, ok := sig.(syscall.Signal)
	if !ok || s < 0 || s > 64 {
		return fmt.Errorf("procgroup: signal %v: %w", sig, errors.ErrUnsupported)
	}
	if s == 0 {
		return nil
	}
	ended := g.hasEnded()
	if !ended {
		g.socket.Write([]byte{byte(s)}) // fails if it ends just now: then the tree is gone, or we look after it
	}
	if s != syscall.SIGKILL && !ended {
		return nil
	}
	if ended && s == syscall.SIGKILL {
		killCgroup(g.cgroup)
	}
	if slices.ContainsFunc(strays, func(p proctable.Process) bool { return p.PGID == g.server }) {
		killGroup(g.server, s) // a member that was just seen pins the number
	}
	return signalStrays(s, g.server, strays)
}

// terminate leaves it all to the guardian, as long as there is one: to look for
// strays as well would make the stop of many servers read the whole table for
// each of them.
func (g *guarded) terminate() error {
	if g.hasEnded() {
		strays, _ := g.alive()
		return g.signal(syscall.SIGTERM, strays)
	}
	g.socket.Write([]byte{guardian.Terminate})
	return nil
}

func (g *guarded) alive() ([]proctable.Process, error) {
	ended := g.hasEnded()
	g.mu.Lock()
	gone, survivors := g.gone, g.survivors
	g.mu.Unlock()
	switch {
	case gone && ended && guardian.Adopts:
		return nil, nil // it has seen all of them go
	case ended:
		alive, err := g.census.alive()
		return g.addSurvivors(alive, survivors), err
	}
	alive, err := g.census.alive(g.process.PID)
	if len(alive) > 0 || err != nil {
		g.mu.Lock()
		g.quiet = time.Time{}
		g.mu.Unlock()
		return alive, err
	}
	return g.finishing()
}

// finishing gives the guardian of an empty tree the time to say so, and then
// counts it among the living.
func (g *guarded) finishing() ([]proctable.Process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.quiet.IsZero() {
		g.quiet = time.Now()
	}
	if time.Since(g.quiet) < finishBound {
		return nil, errFinishing
	}
	p, err := proctable.Lookup(g.process.PID)
	if err != nil || p.ID() != g.process || !p.Alive() {
		return nil, nil
	}
	return []proctable.Process{p}, nil
}

// addSurvivors adds those whom the guardian could not kill: what became root is
// not found by its environment.
func (g *guarded) addSurvivors(alive []proctable.Process, survivors []guardian.Report) []proctable.Process {
	for _, s := range survivors {
		p, err := proctable.Lookup(s.PID)
		known := slices.ContainsFunc(alive, func(p proctable.Process) bool { return p.PID == s.PID })
		if err == nil && p.Alive() && !known {
			alive = append(alive, p)
		}
	}
	return alive
}
