package procgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// A Group is a running command and everything it started. It is made by Start; the
// zero value is of no use. All methods may be called at any time, any number of
// times and from any number of goroutines.
type Group struct {
	cmd       *exec.Cmd
	tree      tree
	grace     time.Duration
	leftovers Leftovers

	termOnce, killOnce sync.Once
	term, kill         chan struct{} // closed to ask the owner for TERM, for KILL

	// pinned guards against a signal to a number that was given away: it is
	// held for reading while a signal is sent and for writing around the reap.
	pinned sync.RWMutex
	reaped bool

	done       chan struct{} // closed last; the fields below are set before
	waitErr    error
	stopErr    error
	closePipes func() // what cmd.Wait still has to do for users of StdoutPipe
}

// Pid returns the process id of the leader. On Unix it is also the number of
// its process group. It says nothing about whether the leader still runs.
func (g *Group) Pid() int { return g.tree.pid() }

// String names the group by the leader's process id.
func (g *Group) String() string { return fmt.Sprintf("process tree of pid %d", g.Pid()) }

// Done returns a channel that is closed when the tree is gone and its leader
// reaped, or when it was given up: [Group.Stop] then tells the survivors.
func (g *Group) Done() <-chan struct{} { return g.done }

// Containment returns what holds for this tree: how it is held together, whom Kill
// reaches, whether it ends with the host, and what is known to get away.
func (g *Group) Containment() Containment { return g.tree.containment() }

// Exited returns a channel that is closed as soon as the leader has ended, before
// what it left behind is swept. Its status is told by [Group.Wait].
func (g *Group) Exited() <-chan struct{} { return g.tree.leaderEnded() }

// Signal sends sig to every member of the group at once: on Unix to the process
// group of the leader, and not to processes that have left it, but for SIGKILL, of which
// a guardian makes the end of the whole tree. A tree that is gone
// already is no error. With a guardian the signal is on its way when Signal
// returns; without one, the error of kill(2) is returned. On Windows only os.Kill
// exists; other signals give an error that wraps errors.ErrUnsupported.
func (g *Group) Signal(sig os.Signal) error {
	g.pinned.RLock()
	defer g.pinned.RUnlock()
	if g.reaped {
		return nil
	}
	return g.tree.signal(sig, nil)
}

// Stop ends the tree politely: SIGTERM to the group, up to [Config.Grace] for
// all of it to end, SIGKILL to the whole tree. It returns as soon as the tree is
// verified gone. When ctx ends, the rest of the grace is skipped.
//
// It returns nil whenever the tree is gone, however it went, and a
// [*SurvivorsError] about 5 s after SIGKILL otherwise. On Windows there is no
// SIGTERM: the tree is terminated at once.
func (g *Group) Stop(ctx context.Context) error {
	g.termOnce.Do(func() { close(g.term) })
	select {
	case <-g.done:
		return g.stopErr
	case <-ctx.Done():
		return g.Kill()
	}
}

// Kill sends SIGKILL to the whole tree (on Windows it terminates the job) and
// returns when it is verified gone, or after about 5 s with a
// [*SurvivorsError].
func (g *Group) Kill() error {
	g.killOnce.Do(func() { close(g.kill) })
	<-g.done
	return g.stopErr
}

// Wait blocks until the tree is gone and returns the leader's result as
// exec.Cmd.Wait would: nil for exit status 0, *exec.ExitError for another one,
// or the error of copying to or from Stdin, Stdout or Stderr. It is
// [ErrStatusUnknown] where somebody else has collected the status. Wait does not
// end anything: to stop the tree is up to Stop, Kill or the lifetime context.
//
// As with exec.Cmd.Wait, do not call it before all reads from a pipe made by
// StdoutPipe or StderrPipe are done. An error of copying is not reported where
// such a pipe is in use.
func (g *Group) Wait() error {
	<-g.done
	g.closePipes()
	return g.waitErr
}

// Members lists the live processes of the tree, those that left the group
// included as far as they can be found, and the guardian left out. It is empty once
// the tree is gone. An error means that the table of processes could not be read.
func (g *Group) Members() ([]Process, error) {
	g.pinned.RLock()
	defer g.pinned.RUnlock()
	if g.reaped {
		return nil, nil
	}
	alive, err := g.tree.alive()
	if errors.Is(err, errUnsettled) {
		err = nil // nobody, as far as can be seen at this moment
	}
	return describe(alive), err
}

// describe adds what only a reader wants to know.
func describe(rows []proctable.Process) []Process {
	var members []Process
	for _, p := range rows {
		members = append(members, Process{
			PID: p.PID, PPID: p.PPID, PGID: p.PGID,
			State: string(p.State),
			Start: p.Started(),
			Argv:  proctable.Argv(p.PID),
		})
	}
	return members
}

// own is the one goroutine that owns the tree.
func (g *Group) own(ctx context.Context) {
	defer close(g.done)
	if !g.await(ctx) {
		g.stopErr = g.sweep()
	}
	g.reap()
}

// await returns true when the tree is gone by itself or by SIGTERM, false as
// soon as it is to be killed.
func (g *Group) await(ctx context.Context) bool {
	var (
		exited = g.tree.exited()
		term   = g.term
		grace  <-chan time.Time // runs from TERM on
		poll   <-chan time.Time // runs from the leader's exit on
		check  verifier
	)
	begin := func(d time.Duration) bool {
		// A TERM that cannot be sent is a rung left out, not a failure.
		if err := g.tree.terminate(); errors.Is(err, errors.ErrUnsupported) {
			return false
		}
		grace = time.After(d)
		return true
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-g.kill:
			return false
		case <-grace:
			return false
		case <-term:
			term = nil
			if grace != nil {
				continue // the leader has ended, and its leftovers were told
			}
			if !begin(g.grace) {
				return false
			}
		case <-exited:
			switch {
			case g.leftovers == Keep:
				return true
			case g.tree.lost() != nil:
				return false // nobody is left to end the rest if the host dies now
			}
			exited, poll = nil, time.After(0)
		case <-poll:
			if alive, err := g.tree.alive(); check.gone(alive, err) {
				return true
			} else if (len(alive) > 0 || err != nil) && grace == nil && !begin(min(g.grace, sweepGrace)) {
				return false
			}
			poll = time.After(check.step())
		}
	}
}

// sweep kills until nobody is alive, or until killBound is over.
func (g *Group) sweep() error {
	var (
		alive    []proctable.Process
		check    verifier
		exited   = g.tree.exited()
		deadline = time.Now().Add(killBound)
	)
	wait := killPatience
	for {
		killErr := g.tree.signal(os.Kill, alive)
		select {
		case <-exited: // the usual next event, and no reason to sleep through it
			exited = nil
		case <-time.After(wait):
		}
		var err error
		if alive, err = g.tree.alive(); check.gone(alive, err) {
			return nil
		}
		// Where nobody was seen it goes on: what is unsettled is so for a moment, and
		// one more look tells, however long a look may take on a busy machine.
		unseen := len(alive) == 0 && (err == nil || errors.Is(err, errUnsettled))
		if time.Now().After(deadline) && !unseen {
			return &SurvivorsError{Processes: describe(alive), Err: errors.Join(err, killErr)}
		}
		wait = check.step()
	}
}
