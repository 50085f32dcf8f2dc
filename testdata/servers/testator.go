//go:build unix

package servers

import (
	"os"
	"slices"
	"strings"
)

func init() { register("testator", testator) }

// testator is ordinary until a tool is called: then it exits 5, and leaves its
// stdout and stderr, or with "stderr" only that, to a process in a session of its
// own, in whose environment nothing tells whose it is, except to the witness.
func testator(args []string) {
	serve(func(r request) {
		if r.Method != "tools/call" {
			polite(r)
			return
		}
		heir := detached(Command("stubborn-sleeper"))
		heir.Env = slices.DeleteFunc(heir.Env, func(kv string) bool { return !strings.HasPrefix(kv, nameVar) })
		if !slices.Contains(args, "stderr") {
			heir.Stdout = os.Stdout
		}
		heir.Stderr = os.Stderr
		child(heir)
		os.Exit(5)
	})
}
