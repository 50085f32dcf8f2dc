package procgroup_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func TestMain(m *testing.M) {
	servers.Main()
	if event := os.Getenv(hostVar); event != "" {
		os.Exit(host(event))
	}
	heed(syscall.SIGHUP, syscall.SIGINT)
	leakcheck.VerifyTestMain(m)
}

// heed lets no host inherit that a signal is ignored, as it is for this process where it
// was started by nohup or in the background: such a host would not die of it.
func heed(sigs ...os.Signal) {
	for _, sig := range sigs {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // and is by whoever is started from here on
		}
	}
}

// hostVar makes this test binary a host that starts a server and then dies of the
// event that the variable names.
const hostVar = "PROCGROUP_TEST_HOST"
