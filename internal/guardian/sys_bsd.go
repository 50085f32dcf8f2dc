//go:build darwin || freebsd

package guardian

import (
	"syscall"
	"unsafe"
)

const (
	// failOpen is false: who carries Var as a child of the process that Var names,
	// and cannot prove that he is meant, ends. Were he to go on, and had we
	// misjudged the system, the host's program would run twice, and that one try
	// to run itself again as well.
	failOpen = false

	sigDefault, sigIgnore = 0, 1

	// mostFiles bounds the search for descriptors.
	mostFiles = 1 << 14
)

// queue is a kqueue(2) and what it has told. An end is told once, and kept here.
type queue struct {
	kq         int
	hostGone   bool
	leaderGone bool
	forked     bool // somebody of the tree has, since the last look at it
}

// openQueue makes the queue, which no fork passes on, and begins to watch the host.
func (g *guard) openQueue() (err error) {
	if g.kq, err = syscall.Kqueue(); err != nil {
		return err
	}
	syscall.CloseOnExec(g.kq)
	// The socket's end of file can be withheld by whoever inherits the host's
	// end of it; the note cannot.
	err = g.subscribe(g.host, syscall.EVFILT_PROC, 0, syscall.NOTE_EXIT)
	g.hostGone = err == syscall.ESRCH
	if g.hostGone {
		err = nil
	}
	return err
}

func (g *guard) subscribe(id, filter, flags int, notes uint32) error {
	change := [1]syscall.Kevent_t{filterFor(id, filter, flags, notes)}
	_, err := syscall.Kevent(g.kq, change[:], nil, nil)
	return err
}

func filterFor(id, filter, flags int, notes uint32) (k syscall.Kevent_t) {
	syscall.SetKevent(&k, id, filter, syscall.EV_ADD|flags)
	k.Fflags = notes
	return k
}

// ready tells what has happened, within some milliseconds; -1 is for ever.
// The socket is asked for each time anew: at its end it would be ready for ever.
func (g *guard) ready(millis int) (leader, told, host bool) {
	var changes []syscall.Kevent_t
	if !g.orphan {
		changes = append(changes, filterFor(g.socket, syscall.EVFILT_READ, syscall.EV_ONESHOT, 0))
	}
	if g.leaderGone && !g.ended || g.hostGone && !g.orphan {
		millis = 0
	}
	if pause := g.untilLook(); pause >= 0 && (millis < 0 || pause < millis) {
		millis = pause
	}
	var limit *syscall.Timespec
	if millis >= 0 {
		t := syscall.NsecToTimespec(int64(millis) * 1e6)
		limit = &t
	}
	var events [16]syscall.Kevent_t
	n, err := syscall.Kevent(g.kq, changes, events[:], limit)
	if err != nil && err != syscall.EINTR {
		// There is nothing left to watch the host with.
		g.hostGone = true
		pause(1)
	}
	for i := range max(n, 0) {
		e := &events[i]
		switch id := int(e.Ident); {
		case e.Filter == syscall.EVFILT_READ && id == g.socket:
			told = true
		case e.Filter == syscall.EVFILT_READ, id == g.leader && e.Fflags&syscall.NOTE_EXIT != 0:
			g.leaderGone = true
		case id == g.host && e.Fflags&syscall.NOTE_EXIT != 0:
			g.hostGone = true
		}
		if e.Filter == syscall.EVFILT_PROC && e.Fflags&syscall.NOTE_FORK != 0 {
			g.forked = true
		}
	}
	if g.untilLook() == 0 {
		g.look()
	}
	return g.leaderGone && !g.ended, told && !g.orphan, g.hostGone && !g.orphan
}

// closeStrangers closes what the host's own parent, or carelessness, has left open
// across execve: the server gets the descriptors it was given and no others, and
// nothing is held open by us. The runtime's own queue stays. It is close-on-exec,
// but not from its first instant; that a fork passes on no queue is.
func (g *guard) closeStrangers() {
	limit := int64(mostFiles)
	var most syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most) == nil {
		limit = min(limit, int64(most.Cur))
	}
	left := openFiles()
	for fd := 0; fd < int(limit) && left > 0; fd++ {
		open, ours := descriptor(fd)
		if !open {
			continue
		}
		left--
		if fd >= g.spec.Files && fd != g.socket && !ours && !isQueue(fd) {
			syscall.Close(fd)
		}
	}
}

// isQueue asks a descriptor for no event at all, which only a queue understands.
func isQueue(fd int) bool {
	_, err := syscall.Kevent(fd, nil, nil, &syscall.Timespec{})
	return err == nil
}

// start starts the server: there are no control groups here.
func (g *guard) start() error { return g.spawn() }

// tidy has nothing to take away.
func (g *guard) tidy() {}

func dup(from, to int) { syscall.Dup2(from, to) }

func pause(millis int) {
	t := syscall.NsecToTimeval(int64(millis) * 1e6)
	syscall.Select(0, nil, nil, nil, &t)
}

// setHandler bypasses the Go runtime, which has its own handlers in place.
func setHandler(sig syscall.Signal, handler uintptr) {
	action := sigaction{handler: handler}
	syscall.RawSyscall(syscall.SYS_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0)
}

// unblock: a signal that the host was started with blocked stays so, and is told by
// an exit code.
func unblock(syscall.Signal) {}
