package procgroup_test

import (
	"os"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func TestMain(m *testing.M) {
	servers.Main()
	if event := os.Getenv(hostVar); event != "" {
		os.Exit(host(event))
	}
	leakcheck.VerifyTestMain(m)
}

// hostVar makes this test binary a host that starts a server and then dies of the
// event that the variable names.
const hostVar = "PROCGROUP_TEST_HOST"
