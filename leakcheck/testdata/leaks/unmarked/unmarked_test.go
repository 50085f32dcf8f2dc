// Package unmarked has tests that run beside each other and marks nothing.
package unmarked

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m, leakcheck.Within(time.Second)) }

func TestGuilty(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
	if err := exec.Command("sleep", "72").Start(); err != nil {
		t.Fatal(err)
	}
}

func TestInnocent(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
}
