// Package parallel has tests that run beside each other, of which one forgets its child.
package parallel

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
)

// checked is closed when the guilty one was checked. Somebody else must run then.
var started, checked = make(chan bool), make(chan bool)

func TestGuilty(t *testing.T) {
	t.Cleanup(func() { close(checked) }) // after the check
	leakcheck.VerifyNone(t, leakcheck.Within(time.Second))
	t.Parallel()
	start(t, "69")
	<-started
}

func TestInnocent(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
	cmd := start(t, "70")
	close(started)
	<-checked
	end(t, cmd)
}

func TestParentOfAnother(t *testing.T) {
	leakcheck.VerifyNone(t)
	t.Parallel()
	t.Run("sub", func(t *testing.T) {
		leakcheck.VerifyNone(t)
		t.Parallel()
		end(t, start(t, "70"))
	})
}

func start(t *testing.T, seconds string) *exec.Cmd {
	cmd := exec.Command("sleep", seconds)
	leakcheck.Mark(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// end kills it, unless somebody else has.
func end(t *testing.T, cmd *exec.Cmd) {
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	cmd.Wait()
}
