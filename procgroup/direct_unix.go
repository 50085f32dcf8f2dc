//go:build linux || darwin || freebsd

package procgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// direct is the tree whose leader is a child of the host itself.
type direct struct {
	leader *leader
	census *census
	why    string // why there is no guardian
}

func startDirect(cmd *exec.Cmd, token, why string) (tree, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// No exit can be missed: nobody but the group reaps the leader.
	l := watchLeader(cmd.Process.Pid)
	d := &direct{l, newCensus(l.pid, cmd.SysProcAttr.Setsid, token), why}
	d.census.group = func() bool {
		exact, err := l.signalGroup(0)
		return exact && err == nil
	}
	return d, nil
}

// prepare asks for a group of its own. Go's child calls setsid or setpgid
// before execve, and Start returns after it: there is no moment in which the
// command runs in the host's group.
func prepare(cmd *exec.Cmd, keepTerminal bool) error {
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	switch {
	case attr.Pgid != 0:
		return &StartError{What: "SysProcAttr", Path: fmt.Sprintf("Pgid: %d", attr.Pgid), Err: errForeign}
	case attr.Foreground && !keepTerminal:
		return &StartError{What: "SysProcAttr", Path: "Foreground: true", Err: errForeign}
	case keepTerminal && !attr.Setsid:
		attr.Setpgid = true
	default:
		// setpgid fails for a session leader, and has nothing to add.
		attr.Setsid, attr.Setpgid = true, false
	}
	cmd.SysProcAttr = &attr
	return nil
}

func (d *direct) exited() <-chan struct{} { return d.leader.exited }

func (d *direct) leaderEnded() <-chan struct{} { return d.leader.exited }

func (d *direct) pid() int { return d.leader.pid }

func (d *direct) lost() error { return nil }

func (d *direct) containment() Containment {
	return Containment{Mechanism: MechanismDirect, Reach: ReachGroup, Gaps: []string{
		"no guardian: " + d.why,
		"a process that left the group, its parents and its environment is not found",
		gapDaemons,
	}}
}

func (d *direct) release() { d.leader.close() }

func (d *direct) alive() ([]proctable.Process, error) { return d.census.alive() }

// signal goes to the group first: one call reaches all of it and is atomic
// against fork, so that nothing in it can outrun the list of strays.
func (d *direct) signal(sig os.Signal, strays []proctable.Process) error {
	s, ok := sig.(syscall.Signal)
	if !ok || s < 0 || s > 64 {
		return fmt.Errorf("procgroup: signal %v: %w", sig, errors.ErrUnsupported)
	}
	if s == syscall.SIGKILL && strays == nil {
		// A child in a session of its own is known by its parent only, if it has
		// wiped its environment: meet it before the parent dies.
		strays, _ = d.alive()
	}
	return errors.Join(d.signalGroup(s), signalStrays(s, d.leader.pid, strays))
}

// terminate wakes the stopped: they take no TERM.
func (d *direct) terminate() error {
	strays, _ := d.alive() // those that a group signal does not reach
	err := d.signal(syscall.SIGTERM, strays)
	d.signal(syscall.SIGCONT, strays)
	return err
}

func (d *direct) signalGroup(s syscall.Signal) error {
	exact, err := d.leader.signalGroup(s)
	if !exact {
		if p, lookErr := proctable.Lookup(d.leader.pid); lookErr != nil || p.ID() != d.census.id {
			return nil // the number was given away
		}
		err = killGroup(d.leader.pid, s)
	}
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if errors.Is(err, syscall.EPERM) && runtime.GOOS == "darwin" {
		// macOS says so of a group in which only zombies are left: the table knows.
		if alive, listErr := d.alive(); listErr == nil && len(alive) == 0 {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("procgroup: signal %v to group %d: %w", s, d.leader.pid, err)
	}
	return nil
}

// signalStrays signals those of the survivors that are not in the group.
func signalStrays(s syscall.Signal, group int, survivors []proctable.Process) error {
	var errs []error
	for _, p := range survivors {
		if p.PGID == group {
			continue
		}
		if err := proctable.Signal(p.ID(), s); err != nil && !errors.Is(err, proctable.ErrNoProcess) {
			errs = append(errs, fmt.Errorf("procgroup: signal %v to pid %d: %w", s, p.PID, err))
		}
	}
	return errors.Join(errs...)
}

// killGroup is the only caller of kill with a negative number. Group 0 would be
// our own, and group 1, as -1, everybody.
func killGroup(pgid int, sig syscall.Signal) error {
	if pgid <= 1 {
		return syscall.ESRCH
	}
	return syscall.Kill(-pgid, sig)
}
