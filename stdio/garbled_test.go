package stdio_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// An answer that is no message fails its call, and nothing else: the caller would wait
// for ever.
func TestAnswersThatAreNoMessages(t *testing.T) {
	for name, args := range map[string][]string{"too deep": {"1500"}, "error of a wrong shape": nil} {
		for via, connect := range connectors {
			t.Run(name+"/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, servers.Command("mumbler", args...), atEOF)
				session, err := connect(t.Context(), transport)
				require.NoError(t, err)
				err = bounded(t, "the call", func() error { return call(session) })
				require.ErrorContains(t, err, "running: the answer to the call is no valid JSON-RPC message")
				var typed *stdio.Error
				require.ErrorAs(t, err, &typed)
				require.Contains(t, typed.Noise, "a line of a log")
				var wire *jsonrpc.Error
				require.ErrorAs(t, err, &wire)
				require.NoError(t, transport.Err(), "the server goes on")
				require.NoError(t, session.Close())
				w.Gone(t)
			})
		}
	}
}
