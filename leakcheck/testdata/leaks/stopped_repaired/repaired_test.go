// Package stopped_repaired kills it: no other signal ends one that is stopped.
package stopped_repaired

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestStopped(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd := exec.Command("sleep", "67")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
