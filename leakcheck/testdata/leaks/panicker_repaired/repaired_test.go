// Package panicker_repaired recovers.
package panicker_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }

func TestPanic(t *testing.T) {
	cmd := exec.Command("sleep", "75")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		panic("out of the blue")
	}()
	<-done
}
