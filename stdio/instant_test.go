package stdio_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// The context of Connect ends at a random instant around the start, the handshake
// and the return: either there is a session that works, or nothing is left.
func TestContextEndsAtAnyInstant(t *testing.T) {
	leakcheck.VerifyNone(t)
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	before := runtime.NumGoroutine()
	connected := 0
	for range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(rand.Int64N(int64(40*time.Millisecond))), cancel)
		transport := &stdio.Transport{Command: servers.Command("ordinary")}
		session, err := stdio.Connect(ctx, newClient(), transport, nil)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		} else {
			connected++
			require.NoError(t, call(session))
			require.NoError(t, session.Close())
		}
		cancel()
	}
	t.Logf("%d of %d were quick enough", connected, rounds)
	poll(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= before })
}
