// Package exiter_repaired lets the test end.
package exiter_repaired

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestExit(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd := exec.Command("sleep", "71")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}
