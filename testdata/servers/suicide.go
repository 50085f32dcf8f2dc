package servers

import (
	"os"
	"strconv"
)

func init() { register("suicide", suicide) }

// suicide is ordinary until a tool is called: then it dies of a signal that
// nobody can catch, as at the hands of the kernel when memory is short. With a
// number it does so at that call, and has not answered those before.
func suicide(args []string) {
	calls := 1
	if len(args) > 0 {
		calls, _ = strconv.Atoi(args[0])
	}
	serve(func(r request) {
		if r.Method == "tools/call" {
			if calls--; calls > 0 {
				return
			}
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			forever()
		}
		polite(r)
	})
}
