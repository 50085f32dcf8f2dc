package procgroup

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// leader watches a child for its end without reaping it, and signals its group.
type leader struct {
	pid    int
	pidfd  *os.File // nil where the kernel or the descriptor limit denies one
	exited chan struct{}
}

// watchLeader parks a goroutine in the runtime's poller until the child ends.
//
// The pidfd is one of our own: os.Process has one too, but O_NONBLOCK, which the
// poller needs, would break its Wait.
func watchLeader(pid int) *leader {
	l := &leader{pid: pid, exited: make(chan struct{})}
	if fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK); err == nil {
		l.pidfd = os.NewFile(uintptr(fd), "pidfd")
	}
	go func() {
		defer close(l.exited)
		if l.pidfd != nil {
			if conn, err := l.pidfd.SyscallConn(); err == nil {
				if conn.Read(func(uintptr) bool { return ended(pid, unix.WNOHANG) }) == nil {
					return
				}
			}
		}
		for !ended(pid, 0) { // holds a thread, but needs no descriptor
		}
	}()
	return l
}

// ended asks with WNOWAIT, so that the child stays a zombie and keeps its PID.
// A child that somebody else has waited for (ECHILD) has ended, too.
func ended(pid, flags int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
	if err == unix.EINTR {
		return false
	}
	return err != nil || info.Signo != 0
}

func (l *leader) close() {
	if l.pidfd != nil {
		l.pidfd.Close()
	}
}

// pidfdGroup is PIDFD_SIGNAL_PROCESS_GROUP of pidfd_send_signal(2), Linux 6.9.
const pidfdGroup = 4

var noPidfdGroup atomic.Bool

// signalGroup prefers the pidfd: it means the leader's group even where the
// leader was reaped by somebody else and its number given to a stranger.
func (l *leader) signalGroup(sig syscall.Signal) error {
	if l.pidfd != nil && !noPidfdGroup.Load() {
		var err error
		ctlErr := l.control(func(fd int) { err = unix.PidfdSendSignal(fd, sig, nil, pidfdGroup) })
		switch {
		case ctlErr != nil:
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
			noPidfdGroup.Store(true)
		default:
			return err
		}
	}
	return killGroup(l.pid, sig)
}

func (l *leader) control(f func(fd int)) error {
	conn, err := l.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { f(int(fd)) })
}
