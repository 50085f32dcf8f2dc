package servers

import (
	"fmt"
	"os"
)

func init() { register("crasher", crasher) }

// crasher is ordinary until a tool is called: then it says why on stderr and
// exits 3. It leaves a child behind that SIGTERM does not end.
func crasher([]string) {
	child(Command("stubborn-sleeper"))
	serve(func(r request) {
		if r.Method == "tools/call" {
			fmt.Fprint(os.Stderr, "loading\nfatal: the disk is full\n\n")
			os.Exit(3)
		}
		polite(r)
	})
}
