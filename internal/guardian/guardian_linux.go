package guardian

import "syscall"

// Supported tells whether this system has a guardian.
const Supported = true

func init() {
	// Fail open: a program that merely inherited the variable goes on as usual.
	value, found := syscall.Getenv(Var)
	if !found {
		return
	}
	fd, host, nonce, ok := parseVar(value)
	if !ok || peer(fd) != host {
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
	pidfd  int // of the host; -1 where the kernel has none
	leader int // pid of the server
	cgroup cgroup

	// reaping orders those who wait for children and those who signal them by
	// number: a number that was read from a list stays good while it is held.
	reaping chan struct{}
	exited  [2]int // a pipe: a byte comes when the leader has ended

	termed   bool  // the tree was sent SIGTERM
	ended    bool  // the leader has ended
	orphan   bool  // the host has ended
	deadline int64 // for the tree to end by itself, in the time of now; 0: none
}

// peer returns the pid of the process that made the socket, or -1.
func peer(fd int) int {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return -1
	}
	return int(cred.Pid)
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
		n, err := syscall.SendmsgN(g.socket, b, nil, nil, syscall.MSG_NOSIGNAL)
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
	// Before the first child: every orphan of the tree comes back to us.
	const prSetChildSubreaper = 36
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)

	// The socket's end of file can be withheld by whoever inherits the host's
	// end of it; the pidfd cannot. In this order: had the host died before, its
	// number could be a stranger's by now, but then we would have a new parent.
	g.pidfd = pidfdOpen(g.host)
	if syscall.Getppid() != g.host {
		syscall.Exit(1)
	}

	g.closeStrangers()
	setHandler(syscall.SIGCHLD, sigDefault) // ignored, there would be no zombies to pin numbers
	err := syscall.Pipe2(g.exited[:], syscall.O_CLOEXEC)
	if err == nil {
		err = g.start()
	}
	if err != nil {
		g.report(Report{Kind: Failed, Errno: errnoOf(err)})
		syscall.Exit(1)
	}
	g.letGo()
	g.report(Report{Kind: Started, PID: g.leader})

	g.reaping = make(chan struct{}, 1)
	go g.watchChildren()
	g.attend()
	status := g.sweep()
	g.mirror(status)
}

// closeStrangers closes what the host's own parent, or carelessness, has left open
// across execve: the server gets the descriptors it was given and no others, and
// nothing is held open by us. The runtime's own are close-on-exec, and stay.
func (g *guard) closeStrangers() {
	for _, name := range names("/proc/self/fd") {
		fd, _, ok := number(name + " ")
		if !ok || fd < g.spec.Files || fd == g.socket {
			continue
		}
		flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			syscall.Close(fd)
		}
	}
}

// start starts the server, in a control group where that can be had: only the
// attempt tells, since the right to make a group does not imply the right to start a
// process in it (clone3 wants that of the common ancestor, cgroups(7)).
func (g *guard) start() (err error) {
	if g.spec.Cgroup != "" {
		if g.cgroup, err = newCgroup(g.spec); err == nil {
			if err = g.spawn(); err == nil {
				return nil
			}
			g.cgroup.remove()
			g.cgroup = cgroup{}
		}
		g.report(Report{Kind: NoCgroup, Errno: errnoOf(err)})
		if g.spec.RequireCgroup {
			return err
		}
	}
	return g.spawn()
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
	files := make([]uintptr, g.spec.Files)
	for i := range files {
		files[i] = uintptr(i)
	}
	g.leader, err = syscall.ForkExec(g.spec.Path, g.spec.Argv, &syscall.ProcAttr{
		Env:   syscall.Environ(),
		Files: files,
		Sys: &syscall.SysProcAttr{
			Setsid:    !g.spec.KeepTerminal,
			Setpgid:   g.spec.KeepTerminal,
			Pdeathsig: syscall.SIGKILL,

			UseCgroupFD: g.cgroup.dir != "",
			CgroupFD:    g.cgroup.fd,
		},
	})
	return err
}

// letGo gives up what belongs to the server alone, so that its pipes end with it,
// and stops listening to signals. After the start, or the server would inherit both.
func (g *guard) letGo() {
	if null, err := syscall.Open("/dev/null", syscall.O_RDWR, 0); err == nil {
		for fd := range 3 {
			syscall.Dup3(null, fd, 0)
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
		syscall.Close(fd)
	}
	for _, sig := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGALRM,
		syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
	} {
		setHandler(sig, sigIgnore)
	}
}

// watchChildren reaps the orphans that come to us, and tells of the leader's end
// without reaping it: its number, which is the group's, must not be given away.
func (g *guard) watchChildren() {
	for {
		pid := waitAny()
		if pid == g.leader || pid < 0 {
			syscall.Write(g.exited[1], []byte{0})
			return
		}
		g.reaping <- struct{}{}
		syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		<-g.reaping
	}
}
