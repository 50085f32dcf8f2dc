// Package unmarked_repaired ends the child.
package unmarked_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }

func TestGuilty(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
	if err := exec.Command("true").Run(); err != nil {
		t.Fatal(err)
	}
}

func TestInnocent(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
}
