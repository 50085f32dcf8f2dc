// Package zombie does not wait for a child that has ended.
package zombie

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestZombie(t *testing.T) {
	leakcheck.VerifyNone(t, leakcheck.Within(time.Second))
	if err := exec.Command("true").Start(); err != nil {
		t.Fatal(err)
	}
}
