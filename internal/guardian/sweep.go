//go:build linux || darwin || freebsd

package guardian

import "syscall"

const (
	// killMillis is how long the tree may take to vanish after the first KILL.
	killMillis = 4500

	// eagerRounds is how often the children are killed as found, whatever comes of
	// it. That is the quickest way with everything but a fork storm, which refills each
	// slot that is emptied: after these rounds the tree is frozen first whenever
	// it did not become smaller.
	eagerRounds = 3
)

// sweep ends what is left of the tree, and reaps its leader last. It returns the
// leader's status.
func (g *guard) sweep() syscall.WaitStatus {
	if g.ended && g.spec.Keep && !g.orphan {
		status := g.reapLeader()
		g.tidy() // as far as nobody is left in it
		g.report(Report{Kind: Gone})
		return status
	}
	if !g.ended || !g.leave() {
		g.force()
	}
	status := g.reapLeader()
	g.settle()
	return status
}

// force kills until nobody is left, or killMillis is over.
func (g *guard) force() {
	g.strike()
	g.killGroup(syscall.SIGKILL) // one call, atomic against fork
	deadline := now() + killMillis
	for round, before, left := 0, 0, 0; now() < deadline; round++ {
		if round >= eagerRounds && left >= before {
			g.freeze()
		}
		before, left = left, g.killChildren()
		if left == 0 {
			return
		}
		pause(min(round, 16))
	}
}

// killChildren kills every child, and reaps those that have ended but for the
// leader. It returns how many are left beside the leader's zombie. Orphans come
// to us, so killing children level by level reaches the whole tree.
func (g *guard) killChildren() (left int) {
	defer g.hold()()
	if !g.leaderDown() {
		left = 1
	}
	for _, pid := range g.children() {
		syscall.Kill(pid, syscall.SIGKILL)
		if pid != g.leader && !reap(pid) {
			left++
		}
	}
	return left
}

// freeze stops the tree from the top down, as it is found, until two looks in a
// row find nobody new. A frozen process forks no more, so what is listed then is all.
func (g *guard) freeze() {
	defer g.hold()()
	frozen := make(map[int]bool)
	for clean, looks := 0, 0; clean < 2 && looks < 200; looks++ {
		clean++
		for _, pid := range g.descendants() {
			if !frozen[pid] {
				syscall.Kill(pid, syscall.SIGSTOP)
				frozen[pid], clean = true, 0
			}
		}
	}
	for pid := range frozen {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// reapOrphans reaps children that have ended, the leader excepted, and returns
// the number of those that live.
func (g *guard) reapOrphans() (living int) {
	for _, pid := range g.children() {
		if pid != g.leader && !reap(pid) {
			living++
		}
	}
	return living
}

// reapLeader lets the number of the group go. From here on nobody may signal it.
func (g *guard) reapLeader() syscall.WaitStatus {
	var status syscall.WaitStatus
	if !g.leaderDown() {
		return status // it cannot be killed: a survivor
	}
	leader := g.leader
	g.leader = 0
	syscall.Wait4(leader, &status, 0, nil)
	return status
}

// settle tells the host the end of the story: that nobody is left, or who is.
func (g *guard) settle() {
	if g.deserted() {
		g.tidy()
		g.report(Report{Kind: Gone})
		return
	}
	for _, pid := range g.children() {
		errno, _ := syscall.Kill(pid, syscall.SIGKILL).(syscall.Errno)
		g.report(Report{Kind: Survivor, PID: pid, Errno: int(errno)})
	}
}

// mirror ends this process as the server has ended.
func (g *guard) mirror(status syscall.WaitStatus) {
	if !status.Signaled() {
		syscall.Exit(status.ExitStatus())
	}
	sig := status.Signal()
	syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) // its core, not ours
	setHandler(sig, sigDefault)
	unblock(sig) // the host may have been started with it blocked
	syscall.Kill(syscall.Getpid(), sig)
	pause(1000) // it comes at once
	syscall.Exit(128 + int(sig))
}
