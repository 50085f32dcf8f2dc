// Package holder leaves a process behind that has the stdout of the test binary:
// `go test` waits for that to be closed.
package holder

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m, leakcheck.Within(time.Second)) }

func TestHolder(t *testing.T) {
	cmd := exec.Command("sleep", "62")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}
