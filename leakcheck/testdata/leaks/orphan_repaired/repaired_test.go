// Package orphan_repaired lets the parent wait for the grandchild.
package orphan_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestOrphan(t *testing.T) {
	leakcheck.VerifyNone(t)
	if err := exec.Command("sh", "-c", "sleep 0.01 </dev/null >/dev/null 2>&1 & wait").Run(); err != nil {
		t.Fatal(err)
	}
}
