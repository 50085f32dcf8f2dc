package procgroup

import (
	"errors"
	"os"
	"sync"
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
				if conn.Read(func(uintptr) bool { return l.ended(unix.WNOHANG) }) == nil {
					return
				}
			}
		}
		for !l.ended(0) { // holds a thread, but needs no descriptor
		}
	}()
	return l
}

// ended asks with WNOWAIT, so that the child stays a zombie and keeps its PID. The
// pidfd means the child even where its number was given away; ECHILD says that
// somebody else has waited for it, so that it has ended, too.
func (l *leader) ended(flags int) bool {
	kind, id := unix.P_PID, l.pid
	if l.pidfd != nil {
		l.control(func(fd int) { kind, id = unix.P_PIDFD, fd })
	}
	var info unix.Siginfo
	err := unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
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

// hasPidfdGroup asks the kernel once, with the signal that is none.
var hasPidfdGroup = sync.OnceValue(func() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	err = unix.PidfdSendSignal(fd, 0, nil, pidfdGroup)
	return !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS)
})

// signalGroup prefers the pidfd: it means the leader's group even where the
// leader was reaped by somebody else and its number given to a stranger. exact
// tells whether that was the way.
func (l *leader) signalGroup(sig syscall.Signal) (exact bool, err error) {
	if l.pidfd == nil || !hasPidfdGroup() {
		return false, nil
	}
	ctlErr := l.control(func(fd int) { err = unix.PidfdSendSignal(fd, sig, nil, pidfdGroup) })
	return ctlErr == nil, err
}

func (l *leader) control(f func(fd int)) error {
	conn, err := l.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { f(int(fd)) })
}
