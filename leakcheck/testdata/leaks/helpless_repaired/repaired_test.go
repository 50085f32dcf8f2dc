// Package helpless_repaired marks what it starts.
package helpless_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestHelpless(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
	cmd := exec.Command("true")
	leakcheck.Mark(t, cmd)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}
