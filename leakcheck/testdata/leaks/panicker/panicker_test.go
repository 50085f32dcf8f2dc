// Package panicker panics in a goroutine, where nothing is cleaned up.
package panicker

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }

func TestPanic(t *testing.T) {
	cmd := exec.Command("sleep", "75")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go panic("out of the blue")
	select {}
}
