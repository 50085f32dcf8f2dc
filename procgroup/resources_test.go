//go:build unix

package procgroup_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
)

// A hundred commands, the failed starts among them, cost as much as one.
func TestNothingIsLeftOfManyRounds(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		round := func() {
			g, err := c.Start(t.Context(), exec.Command("sleep", "60"))
			require.NoError(t, err)
			require.NoError(t, g.Kill())
			cmd := exec.Command("/no/such/program")
			_, err = c.Start(t.Context(), cmd)
			require.Error(t, err)
			require.Nil(t, cmd.Process)
		}
		round() // what the first use opens for good
		before := resources(t)
		for range 100 {
			round()
		}
		require.LessOrEqual(t, resources(t).children, before.children)
		// A goroutine that has done its work may still be on its way out.
		var now usage
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			now = resources(t)
			if now.descriptors <= before.descriptors && now.goroutines <= before.goroutines {
				return
			}
		}
		t.Fatalf("at first %+v, now %+v", before, now)
	})
}

// usage is what this process holds of the system. Zombies are children.
type usage struct{ descriptors, goroutines, children int }

func resources(t *testing.T) (u usage) {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	require.NoError(t, err)
	all, err := proctable.List()
	require.NoError(t, err)
	for _, p := range all {
		if p.PPID == os.Getpid() {
			u.children++
		}
	}
	u.descriptors, u.goroutines = len(entries), runtime.NumGoroutine()
	return u
}

func getsid(pid int) (int, error) { return unix.Getsid(pid) }
