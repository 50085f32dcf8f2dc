// Package exiter leaves the test binary from within a test.
package exiter

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestExit(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd := exec.Command("sleep", "71")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	os.Exit(1)
}
