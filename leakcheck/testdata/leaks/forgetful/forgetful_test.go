// Package forgetful starts a child and neither ends it nor waits for it.
package forgetful

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestChild(t *testing.T) {
	leakcheck.VerifyNone(t, leakcheck.Within(time.Second))
	if err := exec.Command("sleep", "61").Start(); err != nil {
		t.Fatal(err)
	}
}

// TestNext finds nothing: what the test before it has left is charged once.
func TestNext(t *testing.T) { leakcheck.VerifyNone(t) }
