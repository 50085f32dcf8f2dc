package servers

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func init() {
	register("hanger", hanger)
	register("deaf-hanger", deafHanger)
	register("stubborn-hanger", stubbornHanger)
}

// hanger is ordinary until a tool is called: that call is never answered. It
// says so on stderr when the call has arrived.
func hanger([]string) {
	serve(func(r request) {
		if r.Method == "tools/call" {
			fmt.Fprintln(os.Stderr, "hanging")
			return
		}
		polite(r)
	})
}

// deafHanger is a hanger that end of file does not end either.
func deafHanger([]string) {
	hanger(nil)
	forever()
}

// stubbornHanger is a deafHanger that SIGTERM does not end either.
func stubbornHanger([]string) {
	signal.Ignore(syscall.SIGTERM)
	deafHanger(nil)
}
