// Package zombie_repaired waits.
package zombie_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestZombie(t *testing.T) {
	leakcheck.VerifyNone(t)
	if err := exec.Command("true").Run(); err != nil {
		t.Fatal(err)
	}
}
