//go:build linux || darwin || freebsd

package procgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

const sigCont = syscall.SIGCONT

// direct is the tree whose leader is a child of the host itself.
type direct struct {
	leader *leader
	census *census
}

func startDirect(cmd *exec.Cmd, c Config, token string) (tree, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// No exit can be missed: nobody but the group reaps the leader.
	l := watchLeader(cmd.Process.Pid)
	return &direct{l, newCensus(l.pid, cmd.SysProcAttr.Setsid, token)}, nil
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

func (d *direct) pid() int { return d.leader.pid }

func (d *direct) lost() error { return nil }

func (d *direct) release() { d.leader.close() }

func (d *direct) alive() ([]proctable.Process, error) { return d.census.alive() }

// signal goes to the group first: one call reaches all of it and is atomic
// against fork, so that nothing in it can outrun the list of strays.
func (d *direct) signal(sig os.Signal, strays []proctable.Process) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("procgroup: signal %v: %w", sig, errors.ErrUnsupported)
	}
	errs := []error{d.signalGroup(s)}
	for _, p := range strays {
		if p.PGID == d.leader.pid {
			continue
		}
		if err := proctable.Signal(p.ID(), s); err != nil && !errors.Is(err, proctable.ErrNoProcess) {
			errs = append(errs, fmt.Errorf("procgroup: signal %v to pid %d: %w", s, p.PID, err))
		}
	}
	return errors.Join(errs...)
}

func (d *direct) signalGroup(s syscall.Signal) error {
	err := d.leader.signalGroup(s)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if errors.Is(err, syscall.EPERM) {
		// macOS says so of a group in which only zombies are left, others of
		// one that runs as somebody else: the table knows.
		if alive, listErr := d.alive(); listErr == nil && len(alive) == 0 {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("procgroup: signal %v to group %d: %w", s, d.leader.pid, err)
	}
	return nil
}

// killGroup is the only caller of kill with a negative number. Group 0 would be
// our own, and group 1, as -1, everybody.
func killGroup(pgid int, sig syscall.Signal) error {
	if pgid <= 1 {
		return syscall.ESRCH
	}
	return syscall.Kill(-pgid, sig)
}
