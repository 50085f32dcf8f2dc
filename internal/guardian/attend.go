//go:build linux || darwin || freebsd

package guardian

import "syscall"

// orphanMillis is what the tree gets between TERM and KILL when the host is dead.
// With the sweep that follows it must stay under three seconds.
const orphanMillis = 1000

// attend serves the host until the tree is to be swept: the leader has ended, the
// host asks for the kill, or the host is dead and the tree had its moment.
func (g *guard) attend() {
	for {
		switch event, signal := g.wait(-1); event {
		case leaderEnded:
			g.ended = true
			g.report(Report{Kind: Ended, PID: g.leader})
			return
		case timeIsUp:
			return
		case command:
			if signal == syscall.SIGKILL {
				return
			}
			g.obey(signal)
		case hostDied:
			g.orphaned()
		}
	}
}

// orphaned begins the ladder of a tree whose host is dead. End of file on the
// server's stdin came by itself.
func (g *guard) orphaned() {
	g.orphan = true
	g.deadline = now() + orphanMillis
	g.terminate()
}

// leave gives those whom the leader left behind their moment: SIGTERM, unless they
// had that already, and the time that the spec grants or, where it was the host that
// had it sent, the host. It reports whether they have used it.
func (g *guard) leave() (gone bool) {
	for step := 1; ; step = min(2*step, 32) {
		if g.reapOrphans() == 0 {
			return true
		}
		if !g.termed {
			g.deadline = now() + int64(g.spec.SweepMillis)
			g.terminate()
		}
		switch event, signal := g.wait(step); {
		case event == timeIsUp, event == command && signal == syscall.SIGKILL:
			return false
		case event == command:
			g.obey(signal)
		case event == hostDied:
			g.orphaned()
		}
	}
}

type event int

const (
	nothing event = iota
	leaderEnded
	timeIsUp
	command // of the host: a signal
	hostDied
)

// wait blocks until something happens, or for some milliseconds; -1 is for ever.
// What has happened once is not asked for again: it would come at once.
func (g *guard) wait(millis int) (event, syscall.Signal) {
	if g.deadline > 0 {
		left := g.deadline - now()
		if left <= 0 {
			return timeIsUp, 0
		}
		if millis < 0 || int64(millis) > left {
			millis = int(left)
		}
	}
	switch leader, told, host := g.ready(millis); {
	case leader:
		return leaderEnded, 0
	case told:
		var b [1]byte
		n, err := syscall.Read(g.socket, b[:])
		if n == 1 {
			return command, syscall.Signal(b[0])
		}
		if err == syscall.EINTR {
			return nothing, 0
		}
		return hostDied, 0
	case host:
		return hostDied, 0
	}
	return nothing, 0
}

// obey hands a signal to the group, or the end to the tree.
func (g *guard) obey(command syscall.Signal) {
	if command == Terminate {
		g.terminate()
	} else {
		g.killGroup(command)
	}
}

// terminate sends SIGTERM to the group and to those who left it.
func (g *guard) terminate() {
	g.termed = true
	defer g.hold()()
	strays := g.strays()
	// A stopped process takes no TERM.
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		g.killGroup(sig)
		for _, pid := range strays {
			syscall.Kill(pid, sig)
		}
	}
}

// killGroup signals the leader's group, which is ours until the leader is reaped.
func (g *guard) killGroup(sig syscall.Signal) { signalGroup(g.leader, sig) }

// signalGroup is the only place that signals a group. Group 0 would be our own, and
// group 1, as -1, everybody.
func signalGroup(pgid int, sig syscall.Signal) {
	if pgid > 1 {
		syscall.Kill(-pgid, sig)
	}
}
