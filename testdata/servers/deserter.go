package servers

import (
	"os"
	"os/signal"
	"syscall"
)

func init() { register("deserter", deserter) }

// deserter is an ordinary server that goes at SIGTERM with status 0 and leaves a
// child behind that SIGTERM does not end. It ignores end of file.
func deserter([]string) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	child(Command("stubborn-sleeper"))
	go func() {
		<-term
		os.Exit(0)
	}()
	deaf(nil)
}
