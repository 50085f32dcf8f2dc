// Package fatal_repaired says at once what ends the child.
package fatal_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestFatal(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd := exec.Command("sleep", "74")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if false {
		t.Fatal("too early")
	}
}
