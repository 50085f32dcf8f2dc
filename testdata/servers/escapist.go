//go:build unix

package servers

import (
	"os/exec"
	"syscall"
)

func init() {
	register("escapist", escapist)
	register("forker", forker)
	register("clan", clan)
}

// escapist is ordinary but has two children that left its group: one in a
// session of its own, and a daemon in the classic shape (double fork, own
// session, no descriptor kept) whose parent is gone.
func escapist([]string) {
	child(detached(Command("stubborn-sleeper")))
	child(detached(Command("forker"))).Wait()
	serve(polite)
}

// forker is the middle process of a double fork: it starts the daemon and goes.
func forker([]string) { child(detached(Command("stubborn-sleeper"))) }

func detached(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// clan ignores end of file and SIGTERM, and so do its three children: one in its
// group, one in a session of its own, one a daemon.
func clan([]string) {
	child(Command("stubborn-sleeper"))
	child(detached(Command("stubborn-sleeper")))
	child(detached(Command("forker"))).Wait()
	stubborn(nil)
}
