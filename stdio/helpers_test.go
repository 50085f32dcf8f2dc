package stdio_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// short is a rung for servers that will not use it well. Nothing is measured
// against it: it only keeps the suite quick.
const short = 100 * time.Millisecond

func newClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
}

// zoo returns the transport to a server of the zoo, and a witness of its tree.
func zoo(t *testing.T, cmd *exec.Cmd) (*stdio.Transport, *servers.Witness) {
	t.Helper()
	w := servers.NewWitness(t)
	return &stdio.Transport{Command: w.Watch(cmd), TerminateDuration: short, Name: "zoo"}, w
}

// connect connects to a server that is expected to become ready.
func connect(t *testing.T, transport *stdio.Transport) *stdio.Session {
	t.Helper()
	session, err := stdio.Connect(t.Context(), newClient(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

func call(session interface {
	CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
}) error {
	_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "ping"})
	return err
}

// connectors are the two ways to connect. Both must keep every promise.
var connectors = map[string]func(context.Context, *stdio.Transport) (closer, error){
	"stdio.Connect": func(ctx context.Context, t *stdio.Transport) (closer, error) {
		s, err := stdio.Connect(ctx, newClient(), t, nil)
		if err != nil {
			return nil, err
		}
		return s, nil
	},
	"client.Connect": func(ctx context.Context, t *stdio.Transport) (closer, error) {
		s, err := newClient().Connect(ctx, t, nil)
		if err != nil {
			return nil, err
		}
		return s, nil
	},
	"wrapped": func(ctx context.Context, t *stdio.Transport) (closer, error) {
		s, err := newClient().Connect(ctx, &mcp.LoggingTransport{Transport: t, Writer: new(discard)}, nil)
		if err != nil {
			return nil, err
		}
		return s, nil
	},
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

type closer interface {
	Close() error
	CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
}
