package servers

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func init() { register("diehard", diehard) }

// diehard neither reads nor writes a message, and end of file and SIGTERM do not
// end it: of the latter it says on stderr that it came.
func diehard([]string) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	ready()
	for range term {
		fmt.Fprintln(os.Stderr, "SIGTERM came")
	}
}
