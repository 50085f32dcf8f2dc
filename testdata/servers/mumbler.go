package servers

import (
	"fmt"
	"strings"
)

func init() { register("mumbler", mumbler) }

// mumbler answers a call with what only looks like an answer: it nests as deep as its
// argument says, or, without one, has an error that is a mere text. It writes
// a line to its log before, on stdout, with the id in it.
func mumbler(args []string) {
	serve(func(r request) {
		if r.Method != "tools/call" {
			polite(r)
			return
		}
		fmt.Printf(`{"level":"error","id":%s,"error":"a line of a log"}`+"\n", r.ID)
		if len(args) == 0 {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":"no"}`+"\n", r.ID)
			return
		}
		var depth int
		fmt.Sscan(args[0], &depth)
		result(r, strings.Repeat("[", depth)+strings.Repeat("]", depth))
	})
}
