// Package orphan leaves a grandchild behind whose parent has ended.
package orphan

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestOrphan(t *testing.T) {
	leakcheck.VerifyNone(t, leakcheck.Within(time.Second))
	if err := exec.Command("sh", "-c", "sleep 64 </dev/null >/dev/null 2>&1 & exit 0").Run(); err != nil {
		t.Fatal(err)
	}
}
