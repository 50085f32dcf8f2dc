// Package daemon_repaired ends the daemon by the number that it tells.
package daemon_repaired

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }

func TestDaemon(t *testing.T) {
	out, err := exec.Command("sh", "-c", "setsid sleep 63 </dev/null >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(out), &pid); err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}
