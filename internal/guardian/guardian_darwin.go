package guardian

import "syscall"

const (
	// Supported tells whether this system has a guardian.
	Supported = true

	// Adopts tells whether orphans of the tree come to the guardian. Here they go
	// to pid 1: who left the group and lost his parent before he was ever seen has
	// got away.
	Adopts = false

	msgNoSignal = 0 // there is none, but SIGPIPE is not fatal to a Go program, and ignored later
)

type system struct {
	queue
	family  family
	members []row // of the last look
	looked  int64 // when that was
}

// madeBy tells whether the other end of the socket belongs to that process. The
// kernel forgets whose it was when it is closed: then the host has gone, and what
// is left is to find that out, and to end.
func madeBy(fd, pid int) bool {
	const solLocal, localPeerpid = 0, 2
	peer, err := syscall.GetsockoptInt(fd, solLocal, localPeerpid)
	return err == syscall.ENOTCONN || err == nil && peer == pid
}

// prepare fails where anything that is needed later does not answer as expected:
// then the host does without a guardian.
func (g *guard) prepare() error {
	g.family = make(family)
	rows, ok := table()
	group, err := syscall.Getpgid(0)
	if err != nil {
		return err
	}
	if !ok || !has(rows, row{pid: syscall.Getpid(), parent: syscall.Getppid(), group: group}) {
		return syscall.ENOSYS
	}
	return g.openQueue()
}

func (g *guard) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: !g.spec.KeepTerminal, Setpgid: g.spec.KeepTerminal}
}

// watchTree asks for the leader's end, which leaves it a zombie: nobody else waits
// for it, so that its number, which is the group's, stays. A zombie has no filter.
func (g *guard) watchTree() {
	if g.follow(g.leader) == syscall.ESRCH {
		g.leaderGone = true
	}
	g.look()
}

// follow asks for the moments at which a process forks. Its children are in the
// table then, and still in its group.
func (g *guard) follow(pid int) error {
	return g.subscribe(pid, syscall.EVFILT_PROC, 0, syscall.NOTE_EXIT|syscall.NOTE_FORK)
}

// look brings the members up to date. Where the table cannot be read, the old
// ones stay: nobody is gone because he was not seen.
func (g *guard) look() {
	g.forked, g.looked = false, now()
	rows, ok := table()
	if !ok {
		return
	}
	var found []row
	g.members, found = g.family.look(rows, g.leader)
	for _, r := range found {
		if r.pid != g.leader {
			g.follow(r.pid)
			g.forked = true // he may have been quicker
		}
	}
}

// untilLook returns the time until the next look is due, or -1 for none.
func (g *guard) untilLook() int {
	if !g.forked {
		return -1
	}
	return int(max(0, g.looked+lookMillis-now()))
}

// leaderDown tells whether the leader has ended, and leaves it a zombie.
func (g *guard) leaderDown() bool {
	if g.ready(0); !g.leaderGone {
		g.look()
		g.leaderGone = true
		for _, r := range g.members {
			if r.pid == g.leader {
				g.leaderGone = false
			}
		}
	}
	return g.leaderGone
}

// descendants returns the live members of the tree. They are gone if two looks in
// a row say so: one can fall between a birth and a death.
func (g *guard) descendants() (pids []int) {
	for looks := 0; looks < 2 && len(pids) == 0; looks++ {
		g.look()
		for _, r := range g.members {
			pids = append(pids, r.pid)
		}
	}
	return pids
}

// children returns all of them: nobody else looks after those that are not ours.
func (g *guard) children() []int { return g.descendants() }

// strays returns the members that are not in the leader's group.
func (g *guard) strays() (pids []int) {
	g.look()
	for _, r := range g.members {
		if r.group != g.leader {
			pids = append(pids, r.pid)
		}
	}
	return pids
}

// deserted tells whether nobody of the tree is alive.
func (g *guard) deserted() bool { return len(g.descendants()) == 0 }

// reap lets go of nobody: who was listed was alive, and the next look tells.
func reap(int) bool { return false }

// hold can keep nobody's number good: all but the leader are children of others.
func (*guard) hold() (release func()) { return func() {} }

// strike kills the groups that members lead, one call each, since there is none for
// a whole tree: what is born in them at this moment would be an orphan unseen.
func (g *guard) strike() {
	g.look()
	for _, r := range g.members {
		if r.pid == r.group {
			signalGroup(r.pid, syscall.SIGKILL)
		}
	}
}

// table reads the processes. A fork storm makes it outgrow its buffer.
func table() (rows []row, ok bool) {
	for range 8 {
		raw, err := syscall.Sysctl("kern.proc.all")
		if err == nil {
			return parseRows(raw)
		}
		if err != syscall.ENOMEM {
			break
		}
	}
	return nil, false
}

var clock steady

// now returns milliseconds of a clock that does not jump.
func now() int64 {
	var t syscall.Timeval
	if syscall.Gettimeofday(&t) != nil {
		return clock.sum
	}
	return clock.at(t.Nano() / 1e6)
}

func openFiles() int { return mostFiles }

// sigaction is struct __sigaction of sys/signal.h: the kernel's, with a place for
// the trampoline, which these two handlers do not need.
type sigaction struct {
	handler, trampoline uintptr
	mask                uint32
	flags               int32
}
