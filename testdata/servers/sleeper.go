package servers

import (
	"os/signal"
	"syscall"
)

func init() {
	register("sleeper", sleeper)
	register("stubborn-sleeper", stubbornSleeper)
}

// sleeper is a helper process that just is there. It speaks to nobody.
func sleeper([]string) {
	ready()
	forever()
}

// stubbornSleeper is a sleeper that SIGTERM does not end.
func stubbornSleeper([]string) {
	signal.Ignore(syscall.SIGTERM)
	sleeper(nil)
}
