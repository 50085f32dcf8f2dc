// Package stopped leaves a child behind that is stopped.
package stopped

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestStopped(t *testing.T) {
	leakcheck.VerifyNone(t, leakcheck.Within(time.Second))
	cmd := exec.Command("sleep", "67")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
