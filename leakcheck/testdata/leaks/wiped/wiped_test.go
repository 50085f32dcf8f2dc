// Package wiped leaves a grandchild behind that has no environment.
package wiped

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestWiped(t *testing.T) {
	leakcheck.VerifyNone(t, leakcheck.Within(time.Second))
	if err := exec.Command("sh", "-c", "env -i sleep 68; true").Start(); err != nil {
		t.Fatal(err)
	}
}
