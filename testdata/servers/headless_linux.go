package servers

import (
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

func init() {
	register("headless", headless)
	if os.Getenv(nameVar) == "headless" {
		runtime.LockOSThread() // the main goroutine to the main thread
	}
}

// headless ends its main thread and lives on in its others: a zombie, if one believes
// the letter of its state. SIGTERM does not end it.
func headless([]string) {
	signal.Ignore(syscall.SIGTERM)
	go func() {
		for !isZombie() {
			runtime.Gosched()
		}
		sleeper(nil)
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of one thread; exit_group ends all
}

func isZombie() bool {
	stat, err := os.ReadFile("/proc/self/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(state, "Z")
}
