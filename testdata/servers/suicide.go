package servers

import "os"

func init() { register("suicide", suicide) }

// suicide is ordinary until a tool is called: then it dies of a signal that
// nobody can catch, as at the hands of the kernel when memory is short.
func suicide([]string) {
	serve(func(r request) {
		if r.Method == "tools/call" {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			forever()
		}
		polite(r)
	})
}
