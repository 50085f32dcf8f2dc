//go:build linux || darwin || freebsd

package guardian

import "syscall"

func init() {
	// Fail open: a program that merely inherited the variable goes on as usual.
	value, found := syscall.Getenv(Var)
	if !found {
		return
	}
	fd, host, nonce, ok := parseVar(value)
	if !ok {
		return
	}
	if !madeBy(fd, host) {
		if !failOpen && syscall.Getppid() == host {
			syscall.Exit(1)
		}
		return
	}
	g := &guard{socket: fd, host: host}
	// From here on there is no way back: run on as the host's program, as a child
	// of the host, and everything it does would happen twice.
	syscall.CloseOnExec(fd)
	if spec, ok := g.readSpec(); ok && spec.Nonce == nonce {
		syscall.Unsetenv(Var)
		g.spec = spec
		g.run()
	}
	syscall.Exit(1)
}

// guard is the state of a guardian.
type guard struct {
	spec   Spec
	socket int
	host   int // pid
	leader int // pid of the server
	files  []uintptr

	system // what this system needs beside

	termed   bool  // the tree was sent SIGTERM
	ended    bool  // the leader has ended
	orphan   bool  // the host has ended
	deadline int64 // for the tree to end by itself, in the time of now; 0: none
}

func (g *guard) readSpec() (Spec, bool) {
	head := make([]byte, 4)
	if !g.readFull(head) {
		return Spec{}, false
	}
	body := make([]byte, get32(head))
	if !g.readFull(body) {
		return Spec{}, false
	}
	return decodeSpec(body)
}

func (g *guard) readFull(b []byte) bool {
	for len(b) > 0 {
		n, err := syscall.Read(g.socket, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// report tells the host. Nothing depends on whether it still listens.
func (g *guard) report(r Report) {
	for b := r.encode(); len(b) > 0; {
		n, err := syscall.SendmsgN(g.socket, b, nil, nil, msgNoSignal)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return
		}
		b = b[n:]
	}
}

func (g *guard) run() {
	g.takeFiles()
	// Before the first child: every orphan of the tree is to come back to us,
	// where the system has that. And in this order: had the host died before it is
	// watched, its number could be a stranger's by now, but then we would have a
	// new parent.
	err := g.prepare()
	if syscall.Getppid() != g.host {
		syscall.Exit(1)
	}

	g.closeStrangers()
	setHandler(syscall.SIGCHLD, sigDefault) // ignored, there would be no zombies to pin numbers
	if err == nil {
		err = g.start()
	}
	if err != nil {
		g.report(Report{Kind: Failed, Errno: errnoOf(err)})
		syscall.Exit(1)
	}
	g.letGo()
	g.report(Report{Kind: Started, PID: g.leader})

	g.watchTree()
	g.attend()
	status := g.sweep()
	g.mirror(status)
}

// takeFiles finds out which descriptors the server is to have. A number that the
// host has left out is closed to the server, and plugged here: the next descriptor
// of our own would get it otherwise, and be taken for the server's.
func (g *guard) takeFiles() {
	g.files = make([]uintptr, g.spec.Files)
	for fd := range g.files {
		g.files[fd] = uintptr(fd)
		if open, ours := descriptor(fd); !open {
			syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
			g.files[fd] = ^uintptr(0)
		} else if ours {
			g.files[fd] = ^uintptr(0)
		}
	}
}

// descriptor tells whether there is one of that number, and whether it was made in
// this process: what came through execve is not close-on-exec.
func descriptor(fd int) (open, ours bool) {
	flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
	return errno == 0, errno == 0 && flags&syscall.FD_CLOEXEC != 0
}

func errnoOf(err error) int {
	if errno, ok := err.(syscall.Errno); ok {
		return int(errno)
	}
	return int(syscall.EINVAL) // a NUL byte in an argument
}

// spawn starts the server. This goroutine is locked to the main thread, as all of
// init is: that makes PDEATHSIG safe, which strikes when the starting thread ends.
func (g *guard) spawn() (err error) {
	g.leader, err = syscall.ForkExec(g.spec.Path, g.spec.Argv, &syscall.ProcAttr{
		Env:   syscall.Environ(),
		Files: g.files,
		Sys:   g.attributes(),
	})
	return err
}

// letGo gives up what belongs to the server alone, so that its pipes end with it,
// and stops listening to signals. After the start, or the server would inherit both.
func (g *guard) letGo() {
	if null, err := syscall.Open("/dev/null", syscall.O_RDWR, 0); err == nil {
		for fd := range 3 {
			dup(null, fd)
		}
		if null > 2 {
			syscall.Close(null)
		}
	} else {
		for fd := range 3 {
			syscall.Close(fd)
		}
	}
	for fd := 3; fd < g.spec.Files; fd++ {
		if g.files[fd] == uintptr(fd) {
			syscall.Close(fd)
		}
	}
	deafen()
}

// deafen ignores the signals that are not meant for this process.
func deafen() {
	for _, sig := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGALRM,
		syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
	} {
		setHandler(sig, sigIgnore)
	}
}
