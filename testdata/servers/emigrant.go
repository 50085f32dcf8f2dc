//go:build unix

package servers

import (
	"slices"
	"strings"
	"syscall"
)

func init() {
	register("emigrant", emigrant)
	register("smuggler", smuggler)
}

// emigrant is ordinary but has a child, a sleeper, that is not where one would look
// for it. The arguments say how: "setsid" and "setpgid" (a session, a group of its
// own), "forgetful" (STDIOGUARD_TOKEN is not in its environment), "orphan" (its
// parent is gone), "stubborn" (SIGTERM does not end it).
func emigrant(args []string) {
	if slices.Contains(args, "orphan") {
		child(Command("smuggler", args...)).Wait()
	} else {
		smuggler(args)
	}
	serve(polite)
}

// smuggler starts the sleeper, and goes.
func smuggler(args []string) {
	cmd := Command("sleeper")
	if slices.Contains(args, "stubborn") {
		cmd = Command("stubborn-sleeper")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:  slices.Contains(args, "setsid"),
		Setpgid: slices.Contains(args, "setpgid"),
	}
	if slices.Contains(args, "forgetful") {
		cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool {
			return strings.HasPrefix(kv, "STDIOGUARD_TOKEN=")
		})
	}
	child(cmd)
}
