//go:build unix

package stdio_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// Until the handshake is done, the end of the context of Connect kills at once: no
// rung is spent on the server, and the context is the reason, not what the client
// did about it later.
func TestACancelledConnectKillsAtOnce(t *testing.T) {
	for name, command := range map[string]func() *exec.Cmd{
		"alone":             func() *exec.Cmd { return servers.Command("diehard") },
		"forked by a shell": func() *exec.Cmd { return servers.Shell("sh", "run diehard; true") },
	} {
		for via, connect := range connectors {
			t.Run(name+"/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, command(), atKILL)
				transport.TerminateDuration = time.Hour
				transport.HandshakeTimeout = time.Hour
				ctx, cancel := context.WithCancel(t.Context())
				result := make(chan error, 1)
				go func() {
					_, err := connect(ctx, transport)
					result <- err
				}()
				w.Await(t, "diehard")
				cancel()
				require.ErrorIs(t, received(t, "Connect", result), context.Canceled)
				w.Gone(t)
				require.ErrorIs(t, transport.Err(), context.Canceled)
				var typed *stdio.Error
				require.ErrorAs(t, transport.Err(), &typed)
				require.Equal(t, stdio.PhaseHandshake, typed.Phase)
				require.NotContains(t, typed.Stderr, "SIGTERM came")
			})
		}
	}
}
