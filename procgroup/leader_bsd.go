//go:build darwin || freebsd

package procgroup

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// leader watches a child for its end without reaping it, and signals its group.
type leader struct {
	pid    int
	exited chan struct{}
}

// watchLeader waits in kqueue(2) for NOTE_EXIT, which reports the end of a
// process and leaves it a zombie. It holds a thread and one descriptor until then.
func watchLeader(pid int) *leader {
	l := &leader{pid: pid, exited: make(chan struct{})}
	kq, err := unix.Kqueue()
	go func() {
		defer close(l.exited)
		if err == nil {
			defer unix.Close(kq)
			waitNoteExit(kq, pid)
		}
		// The zombie may appear a moment after the note, and without a kqueue
		// there is nothing but to look.
		for poll := (verifier{}); ; time.Sleep(poll.step()) {
			if p, err := proctable.Lookup(pid); err != nil || !p.Alive() {
				return
			}
		}
	}()
	return l
}

func waitNoteExit(kq, pid int) {
	var change, event [1]unix.Kevent_t
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	for {
		// ESRCH, here or in the event: macOS knows no filter for a zombie.
		if _, err := unix.Kevent(kq, change[:], event[:], nil); err != unix.EINTR {
			return
		}
	}
}

func (l *leader) close() {}

func (l *leader) signalGroup(sig syscall.Signal) error { return killGroup(l.pid, sig) }

// signalOne signals one process if its number still means it. There is no handle on
// a process here: the check was a moment ago, and numbers are given out in a
// circle.
func signalOne(id proctable.ID, sig syscall.Signal) error {
	p, err := proctable.Lookup(id.PID)
	if err != nil {
		return err
	}
	if p.ID() != id {
		return proctable.ErrNoProcess
	}
	if err := unix.Kill(id.PID, sig); err != unix.ESRCH {
		return err
	}
	return proctable.ErrNoProcess
}
