// Package holder_repaired gives its stdout away for as long as a test takes.
package holder_repaired

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }

func TestHolder(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "62")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() }) // the context has ended by then
}
