package stdio_test

import (
	"context"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A call that its caller gave up, and that is never answered, is forgotten: a
// client that times out for years must not grow. The calls that are still waited
// for are not.
func TestCallsGivenUpAreForgotten(t *testing.T) {
	for via, connect := range connectors {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("hanger"), atEOF)
			arrived, stderr, err := os.Pipe()
			require.NoError(t, err)
			defer arrived.Close()
			defer stderr.Close()
			transport.Stderr = stderr
			session, err := connect(t.Context(), transport)
			require.NoError(t, err)
			hang := func(ctx context.Context) <-chan error {
				result := make(chan error, 1)
				go func() {
					_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "ping"})
					result <- err
				}()
				_, err := arrived.Read(make([]byte, 100)) // the server has it
				require.NoError(t, err)
				return result
			}
			waiting := hang(context.Background())
			ctx, cancel := context.WithCancel(t.Context())
			for range 10 {
				go func() { session.CallTool(ctx, &mcp.CallToolParams{Name: "ping"}) }()
			}
			poll(t, "the calls were not sent", func() bool { return stdio.Pending(transport) == 11 })
			cancel()
			poll(t, "calls given up are kept", func() bool { return stdio.Pending(transport) == 1 })

			require.NoError(t, transport.Stop(t.Context()))
			require.ErrorIs(t, received(t, "the call", waiting), stdio.ErrOutcomeUnknown)
			session.Close()
			w.Gone(t)
		})
	}
}
