// Package doublefork starts a program that detaches itself in the classic way, with nothing open.
package doublefork

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestDoubleFork(t *testing.T) {
	leakcheck.VerifyNone(t, leakcheck.Within(time.Second))
	if err := exec.Command("sh", "-c", "(setsid sleep 66 <&- >&- 2>&- &) & wait").Run(); err != nil {
		t.Fatal(err)
	}
}
