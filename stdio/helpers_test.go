package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

const (
	// short is a rung for servers that will not use it well. Nothing is measured
	// against it: it only keeps the suite quick.
	short = 100 * time.Millisecond

	// long is a rung for servers that end at it, however busy the machine is.
	long = time.Minute
)

// ends says at which rung a server ends, and so how long its rungs should be.
type ends int

const (
	atEOF  ends = iota // or by itself
	atTERM             // it does not look for end of file
	atKILL             // it ignores both
)

func (e ends) rungs(t *stdio.Transport) {
	switch e {
	case atEOF:
		t.TerminateDuration = long
	case atTERM:
		t.TerminateDuration = short
		stdio.SetTermRung(t, long)
	case atKILL:
		t.TerminateDuration = short
	}
}

func newClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
}

// zoo returns the transport to a server of the zoo that ends at the given rung,
// and a witness of its tree.
func zoo(t *testing.T, cmd *exec.Cmd, at ends) (*stdio.Transport, *servers.Witness) {
	t.Helper()
	w := servers.NewWitness(t)
	transport := &stdio.Transport{Command: w.Watch(cmd), Name: "zoo"}
	at.rungs(transport)
	return transport, w
}

// requireShell skips, and says so, where cmd needs a shell that is not there.
func requireShell(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		t.Skipf("SKIPPED for want of a shell: %v", cmd.Err)
	}
}

// bounded returns what f does, and fails the test if f waits for what does not
// come. It is long enough for a busy machine, and shorter than the minute after
// which a server of the zoo ends by itself.
func bounded(t *testing.T, what string, f func() error) error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- f() }()
	return received(t, what, result)
}

func received(t *testing.T, what string, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(40 * time.Second):
		t.Fatalf("still waiting: %s", what)
		return nil
	}
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

// callInFlight connects to a server that says on stderr when it has a call, and
// returns when it has one.
func callInFlight(t *testing.T, transport *stdio.Transport) (*stdio.Session, <-chan error) {
	t.Helper()
	arrived, stderr, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { arrived.Close() })
	t.Cleanup(func() { stderr.Close() })
	transport.Stderr = stderr
	session := connect(t, transport)
	result := make(chan error, 1)
	go func() { result <- call(session) }()
	_, err = arrived.Read(make([]byte, 1))
	require.NoError(t, err)
	return session, result
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

func message(t *testing.T, id float64, method string, params any) *jsonrpc.Request {
	t.Helper()
	r := &jsonrpc.Request{Method: method}
	var err error
	if id > 0 {
		r.ID, err = jsonrpc.MakeID(id)
		require.NoError(t, err)
	}
	r.Params, err = json.Marshal(params)
	require.NoError(t, err)
	return r
}

// huge is a call that fits into no pipe.
func huge(t *testing.T, id float64) *jsonrpc.Request {
	t.Helper()
	return message(t, id, "tools/call", map[string]string{"name": strings.Repeat("x", 2<<20)})
}

// handshake connects without an mcp.Client, so that the test decides what is
// written and read.
func handshake(t *testing.T, transport *stdio.Transport) mcp.Connection {
	t.Helper()
	c, err := transport.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.Write(t.Context(), message(t, 1, "initialize", struct{}{})))
	_, err = c.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), message(t, 0, "notifications/initialized", struct{}{})))
	return c
}

// poll asks until ok agrees.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-time.After(time.Millisecond):
		case <-timeout:
			t.Fatal(what)
		}
	}
}
