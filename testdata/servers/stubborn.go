package servers

import (
	"os/signal"
	"syscall"
)

func init() {
	register("stubborn", stubborn)
	register("deaf", deaf)
}

// stubborn is ordinary, but neither end of file nor SIGTERM ends it.
func stubborn([]string) {
	signal.Ignore(syscall.SIGTERM)
	deaf(nil)
}

// deaf is ordinary, but end of file does not end it: many servers of the npm
// world never look for it.
func deaf([]string) {
	serve(polite)
	forever()
}
