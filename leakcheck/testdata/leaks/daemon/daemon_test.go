// Package daemon starts a program that detaches itself.
package daemon

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m, leakcheck.Within(time.Second)) }

func TestDaemon(t *testing.T) {
	if err := exec.Command("sh", "-c", "setsid sleep 63 </dev/null >/dev/null 2>&1 & exit 0").Run(); err != nil {
		t.Fatal(err)
	}
}
