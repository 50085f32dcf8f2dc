// Package doublefork_repaired ends it by the number that it tells.
package doublefork_repaired

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestDoubleFork(t *testing.T) {
	leakcheck.VerifyNone(t)
	out, err := exec.Command("sh", "-c", "(setsid sleep 66 <&- >&- 2>&- & echo $!) & wait").Output()
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
