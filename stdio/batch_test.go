package stdio_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// An array of messages is as good as the messages where the version agreed on has
// them, and calls that came in one are answered in one.
func TestBatches(t *testing.T) {
	for via, connect := range connectors {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("batcher", "2025-03-26"), atEOF)
			var stderr bytes.Buffer
			transport.Stderr = &stderr
			session, err := connect(t.Context(), transport)
			require.NoError(t, err)
			require.NoError(t, call(session))
			require.NoError(t, session.Close())
			w.Gone(t)
			require.Regexp(t, `^an array of 2: "[ab]", "[ab]"\n$`, stderr.String())
		})
	}
}

// Later versions have none: an array is a line that is no message.
func TestBatchesThatAreNotAllowed(t *testing.T) {
	transport, w := zoo(t, servers.Command("batcher", "2025-06-18"), atEOF)
	transport.Noise = stdio.FailOnNoise
	session := connect(t, transport)
	_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "ping"})
	require.ErrorIs(t, err, stdio.ErrNoise)
	require.ErrorContains(t, err, `not a message: "[{\"jsonrpc\":`)
	require.ErrorIs(t, session.Close(), stdio.ErrNoise)
	w.Gone(t)
}
