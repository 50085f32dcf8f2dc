package servers

import (
	"fmt"
	"os"
)

func init() { register("tardy", tardy) }

// tardy answers a call when its stdin has ended, and not before. It says on stderr
// that the call has arrived.
func tardy([]string) {
	var late []request
	serve(func(r request) {
		if r.Method != "tools/call" {
			polite(r)
			return
		}
		fmt.Fprintln(os.Stderr, "later")
		late = append(late, r)
	})
	for _, r := range late {
		polite(r)
	}
}
