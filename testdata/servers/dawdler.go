package servers

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

func init() { register("dawdler", dawdler) }

// dawdler ignores end of file, and takes a moment to end itself at SIGTERM: it
// exits 7 then.
func dawdler([]string) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go deaf(nil)
	<-term
	time.Sleep(100 * time.Millisecond) // its clean-up
	os.Exit(7)
}
