// Package overtime takes longer than the go command lets it.
package overtime

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestForEver(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd := exec.Command("sleep", "76")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}
