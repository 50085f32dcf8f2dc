//go:build unix

package servers

import (
	"os"
	"syscall"
)

func init() { register("stopped", stopped) }

// stopped is ordinary until a tool is called: then it stops itself, as a process
// in a debugger or after a read from the terminal in the background.
func stopped([]string) {
	serve(func(r request) {
		if r.Method == "tools/call" {
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
		polite(r)
	})
}
