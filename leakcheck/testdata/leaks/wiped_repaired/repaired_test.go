// Package wiped_repaired waits for it.
package wiped_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestWiped(t *testing.T) {
	leakcheck.VerifyNone(t)
	if err := exec.Command("sh", "-c", "env -i sleep 0.01; true").Run(); err != nil {
		t.Fatal(err)
	}
}
