// Package fatal ends its test between the start of a child and what would end it.
package fatal

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestFatal(t *testing.T) {
	leakcheck.VerifyNone(t, leakcheck.Within(time.Second))
	cmd := exec.Command("sleep", "74")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Fatal("too early")
	cmd.Process.Kill()
}
