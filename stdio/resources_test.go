//go:build unix

package stdio_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	poll(t, "the server did not stop itself", func() bool {
		p, err := proctable.Lookup(pid)
		return err == nil && p.State == proctable.Stopped
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	require.NoError(t, err)
	return len(entries)
}

// Whether a connection succeeds or fails, it leaves neither a descriptor nor a
// goroutine.
func TestNothingIsLeftOfManyConnections(t *testing.T) {
	round := func() {
		for _, name := range []string{"ordinary", "refuser", "brittle"} {
			transport := &stdio.Transport{Command: servers.Command(name)}
			if session, err := stdio.Connect(t.Context(), newClient(), transport, nil); err == nil {
				require.NoError(t, call(session))
				require.NoError(t, session.Close())
			}
			transport.Stop(t.Context())
		}
	}
	round() // what the first use opens for good
	files, routines := descriptors(t), runtime.NumGoroutine()
	for range 10 {
		round()
	}
	poll(t, "descriptors or goroutines are left", func() bool {
		return descriptors(t) <= files && runtime.NumGoroutine() <= routines
	})
}

// What an idle connection costs its host: at most five descriptors and six
// goroutines.
func TestIdleConnection(t *testing.T) {
	connect(t, &stdio.Transport{Command: servers.Command("ordinary")}).Close()
	files, routines := descriptors(t), runtime.NumGoroutine()
	session := connect(t, &stdio.Transport{Command: servers.Command("ordinary")})
	poll(t, "too many goroutines or descriptors", func() bool {
		return descriptors(t) <= files+5 && runtime.NumGoroutine() <= routines+6
	})
	require.NoError(t, session.Close())
}
