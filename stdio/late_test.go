package stdio_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A stock client that is slow to notice that its context has ended finds the
// connection as it was, and reports the context's error and no mere text.
func TestAClientThatIsSlowToNotice(t *testing.T) {
	transport, w := zoo(t, servers.Command("mute"), atKILL)
	client := newClient()
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, r)
			if method == "server/discover" {
				poll(t, "the server was not ended", func() bool { return transport.Err() != nil })
			}
			return result, err
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	_, err := client.Connect(ctx, transport, nil)
	w.Gone(t)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
