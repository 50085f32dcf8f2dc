// Package forgetful_repaired ends its child and waits for it.
package forgetful_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestChild(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd := exec.Command("sleep", "61")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}
