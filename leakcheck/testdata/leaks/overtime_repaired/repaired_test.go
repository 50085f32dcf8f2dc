// Package overtime_repaired does not.
package overtime_repaired

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestForEver(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd := exec.Command("sleep", "0.01")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}
