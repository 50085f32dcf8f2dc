package guardian

import "syscall"

const (
	// Supported tells whether this system has a guardian.
	Supported = true

	// Adopts tells whether orphans of the tree come to the guardian, so that none
	// can get away from it.
	Adopts = true

	// failOpen: a program that carries Var without being meant goes on as usual,
	// even as a child of the process that Var names.
	failOpen = true

	msgNoSignal = syscall.MSG_NOSIGNAL
)

type system struct {
	pidfd  int // of the host; -1 where the kernel has none
	cgroup cgroup
	orphanage
}

// madeBy tells whether the socket was made by that process.
func madeBy(fd, pid int) bool {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	return err == nil && int(cred.Pid) == pid
}

func (g *guard) prepare() error {
	const prSetChildSubreaper = 36
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)

	// The socket's end of file can be withheld by whoever inherits the host's
	// end of it; the pidfd cannot.
	g.pidfd = pidfdOpen(g.host)

	// The server gets default signals, whatever the host was started with: nohup
	// ignores SIGHUP for all that come after it.
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if ignored(sig) {
			setHandler(sig, sigDefault)
		}
	}
	return syscall.Pipe2(g.exited[:], syscall.O_CLOEXEC)
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
		if open, ours := descriptor(fd); open && !ours {
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
			able := g.cgroup.admits()
			g.cgroup.remove()
			g.cgroup = cgroup{}
			if able {
				return err // the program is to blame
			}
		}
		g.report(Report{Kind: NoCgroup, Errno: errnoOf(err)})
		if g.spec.RequireCgroup {
			return err
		}
	}
	return g.spawn()
}

func (g *guard) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid:    !g.spec.KeepTerminal,
		Setpgid:   g.spec.KeepTerminal,
		Pdeathsig: syscall.SIGKILL,

		UseCgroupFD: g.cgroup.dir != "",
		CgroupFD:    g.cgroup.fd,
	}
}

// ready tells what has happened, within some milliseconds; -1 is for ever.
// What has happened once is not asked for again: it would come at once.
func (g *guard) ready(millis int) (leader, told, host bool) {
	fds := [3]pollFD{
		{fd: int32(g.exited[0]), events: pollIn},
		{fd: int32(g.socket), events: pollIn},
		{fd: int32(g.pidfd), events: pollIn},
	}
	if g.ended {
		fds[0].fd = -1
	}
	if g.orphan {
		fds[1].fd, fds[2].fd = -1, -1
	}
	if !poll(fds[:], millis) {
		return false, false, false
	}
	return fds[0].revents != 0, fds[1].revents != 0, fds[2].revents != 0
}

// strike ends the whole tree by one call, where the system has that.
func (g *guard) strike() { g.cgroup.kill() }

// tidy takes away what was made for the server.
func (g *guard) tidy() { g.cgroup.remove() }

func dup(from, to int) { syscall.Dup3(from, to, 0) }
