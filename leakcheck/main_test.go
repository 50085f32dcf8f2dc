package leakcheck_test

import (
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func TestMain(m *testing.M) {
	servers.Main()
	leakcheck.VerifyTestMain(m)
}
