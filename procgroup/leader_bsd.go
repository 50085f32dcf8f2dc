//go:build darwin || freebsd

package procgroup

import (
	"errors"
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
	kq, err := newKqueue()
	go func() {
		defer close(l.exited)
		noted := false
		if err == nil {
			noted = waitNoteExit(kq, pid)
			unix.Close(kq)
		}
		// The zombie may appear a moment after the note, and without a note there
		// is nothing but to look. A look that fails tells nothing then: whoever
		// took it for an end would block in Wait, and hold up every signal.
		for poll := (verifier{}); ; time.Sleep(poll.step()) {
			p, err := proctable.Lookup(pid)
			if errors.Is(err, proctable.ErrNoProcess) || err != nil && noted || err == nil && !p.Alive() {
				return
			}
		}
	}()
	return l
}

// newKqueue makes a queue that no program started here gets to see. A fork does
// not pass it on, but an execve of the host itself would.
func newKqueue() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	kq, err := unix.Kqueue()
	if err == nil {
		unix.CloseOnExec(kq)
	}
	return kq, err
}

// waitNoteExit reports whether the note came. It is false at once where there is
// nobody to watch: macOS knows no filter for a zombie, and says ESRCH.
func waitNoteExit(kq, pid int) bool {
	var change, event [1]unix.Kevent_t
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	for {
		// An interrupted call has added the filter; to add it again changes nothing.
		n, err := unix.Kevent(kq, change[:], event[:], nil)
		if err == unix.EINTR {
			continue
		}
		// A change that is refused comes back as an event with EV_ERROR.
		return err == nil && n == 1 && event[0].Flags&unix.EV_ERROR == 0
	}
}

func (l *leader) close() {}

// signalGroup has no better name for a group than its number.
func (l *leader) signalGroup(syscall.Signal) (exact bool, err error) { return false, nil }
