// Package parallel_repaired ends all of them.
package parallel_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestGuilty(t *testing.T) { innocent(t) }

func TestInnocent(t *testing.T) { innocent(t) }

func TestParentOfAnother(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
	t.Run("sub", innocent)
}

func innocent(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "70")
	leakcheck.Mark(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() }) // the context has ended by then
}
