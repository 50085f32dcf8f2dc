//go:build linux || freebsd

package guardian

import "syscall"

// orphanage is what a guardian needs to which the orphans of its tree come.
type orphanage struct {
	// reaping orders those who wait for children and those who signal them by
	// number: a number that was read from a list stays good while it is held.
	reaping chan struct{}
	exited  [2]int // a pipe: a byte comes when the leader has ended
}

// hold keeps the numbers of all children good until the returned function is called.
func (g *guard) hold() (release func()) {
	if g.reaping == nil {
		return func() {}
	}
	g.reaping <- struct{}{}
	return func() { <-g.reaping }
}

func (g *guard) watchTree() {
	g.reaping = make(chan struct{}, 1)
	go g.watchChildren(g.leader)
}

// watchChildren reaps the orphans that come to us, and tells of the leader's end
// without reaping it: its number, which is the group's, must not be given away.
func (g *guard) watchChildren(leader int) {
	for {
		pid := waitAny()
		if pid == leader || pid < 0 {
			syscall.Write(g.exited[1], []byte{0})
			return
		}
		g.reaping <- struct{}{}
		syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		<-g.reaping
	}
}

// leaderDown tells whether the leader has ended, and leaves it a zombie.
func (g *guard) leaderDown() bool { return peek(g.leader) }

// reap reports whether a child has ended, and lets go of it then.
func reap(pid int) bool {
	got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return got == pid || err == syscall.ECHILD
}

// deserted tells whether this process has no child any more: so has nobody of the
// tree, and the kernel knows it best.
func (g *guard) deserted() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			return true
		}
		if pid <= 0 && err != syscall.EINTR {
			return false
		}
	}
}

// strays returns the descendants that are not in the leader's group.
func (g *guard) strays() (pids []int) {
	for _, pid := range g.descendants() {
		if group, err := syscall.Getpgid(pid); err == nil && group != g.leader {
			pids = append(pids, pid)
		}
	}
	return pids
}

// now returns milliseconds of a clock that does not jump.
func now() int64 {
	var t syscall.Timespec
	clockGettime(&t)
	return t.Nano() / 1e6
}
