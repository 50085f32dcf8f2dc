//go:build linux || darwin || freebsd

package procgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

const sigCont = syscall.SIGCONT

// direct is the tree whose leader is a child of the host itself. Its members
// are the group and session of the leader, all their descendants, everybody
// who carries the token, and everybody who was once one of these.
type direct struct {
	leader  *leader
	id      proctable.ID // of the leader; Start is 0 where it was not to be had
	session bool         // the leader has a session of its own
	token   string

	mu     sync.Mutex
	seen   map[proctable.ID]bool      // a member stays one when its parent dies
	unsure map[proctable.ID]time.Time // since when its environment is empty
}

// unsureBound is how long an empty environment may be that of a process inside
// execve. After it, it belongs to a stranger who likes it empty.
const unsureBound = 50 * time.Millisecond

var errUnsure = errors.New("a process that may be of the tree is between two programs")

func startTree(cmd *exec.Cmd, c Config, token string) (tree, error) {
	if err := prepare(cmd, c.KeepTerminal); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &direct{
		// No exit can be missed: nobody but the group reaps the leader.
		leader:  watchLeader(cmd.Process.Pid),
		id:      proctable.ID{PID: cmd.Process.Pid},
		session: cmd.SysProcAttr.Setsid,
		token:   token,
		seen:    make(map[proctable.ID]bool),
		unsure:  make(map[proctable.ID]time.Time),
	}
	if p, err := proctable.Lookup(d.id.PID); err == nil {
		d.id = p.ID()
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

func (d *direct) release() { d.leader.close() }

// signal goes to the group first: one call reaches all of it and is atomic
// against fork, so that nothing in it can outrun the list of strays.
func (d *direct) signal(sig os.Signal, strays []proctable.Process) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("procgroup: signal %v: %w", sig, errors.ErrUnsupported)
	}
	errs := []error{d.signalGroup(s)}
	for _, p := range strays {
		if p.PGID == d.id.PID {
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
		return fmt.Errorf("procgroup: signal %v to group %d: %w", s, d.id.PID, err)
	}
	return nil
}

func (d *direct) alive() ([]proctable.Process, error) {
	all, err := proctable.List()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()

	unsure := false
	members, roots := d.roots(all, &unsure)
	var alive []proctable.Process
	for _, p := range append(members, proctable.Descendants(all, roots...)...) {
		d.seen[p.ID()] = true
		if p.Alive() {
			alive = append(alive, p)
		}
	}
	if unsure && len(alive) == 0 {
		return nil, errUnsure
	}
	return alive, nil
}

// roots finds the members that do not need a parent to be recognised.
func (d *direct) roots(all []proctable.Process, unsure *bool) (members []proctable.Process, pids []int) {
	// Somebody else's wait4 can let the leader's number go. Then neither it nor
	// the group of that number is ours any more.
	pinned := false
	for _, p := range all {
		pinned = pinned || p.ID() == d.id
	}
	for _, p := range all {
		if p.Start < d.id.Start {
			continue // older than the leader
		}
		mine := p.ID() == d.id || d.seen[p.ID()] ||
			pinned && (p.PGID == d.id.PID || d.session && p.SID == d.id.PID) ||
			d.carries(p, unsure)
		if mine {
			members = append(members, p)
			pids = append(pids, p.PID)
		}
	}
	return members, pids
}

func (d *direct) carries(p proctable.Process, unsure *bool) bool {
	switch proctable.Carrier(p, d.token) {
	case proctable.Yes:
		return true
	case proctable.Unsure:
		since, known := d.unsure[p.ID()]
		if !known {
			since = time.Now()
			d.unsure[p.ID()] = since
		}
		*unsure = *unsure || time.Since(since) < unsureBound
	}
	return false
}

// killGroup is the only caller of kill with a negative number. Group 0 would be
// our own, and group 1, as -1, everybody.
func killGroup(pgid int, sig syscall.Signal) error {
	if pgid <= 1 {
		return syscall.ESRCH
	}
	return syscall.Kill(-pgid, sig)
}
