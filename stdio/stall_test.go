//go:build unix

package stdio_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A write that its caller gives up says that the server does not read, and costs
// the server nothing.
func TestAWriteThatIsGivenUpSaysWhy(t *testing.T) {
	transport, w := zoo(t, servers.Command("abstainer"), atTERM)
	c := handshake(t, transport)
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() { written <- c.Write(ctx, huge(t, 2)) }()
	var since time.Time
	poll(t, "the write has not begun", func() bool {
		if !stdio.Writing(transport) {
			return false
		} else if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) > 10*time.Millisecond // to be told of
	})
	cancel()
	err := received(t, "Write", written)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, stdio.ErrStdinStalled)
	require.Regexp(t, `^stdio: zoo: running: server has not read its stdin for [\d.]+m?s: context canceled \(pid`, err.Error())
	require.NoError(t, transport.Err(), "it goes on")
	require.NoError(t, c.Close())
	w.Gone(t)
}

// A server that has closed its stdin and lives on is failed: nobody can speak to it
// any more.
func TestAServerThatClosesItsStdin(t *testing.T) {
	for via, connect := range connectors {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("closer", "stdin"), atEOF)
			session, err := connect(t.Context(), transport)
			require.NoError(t, err)
			results := make(chan error, 1)
			go func() { results <- call(session) }()
			poll(t, "the first call was not sent", func() bool { return stdio.Pending(transport) == 1 })
			for transport.Err() == nil {
				ctx, cancel := context.WithTimeout(t.Context(), short)
				session.CallTool(ctx, &mcp.CallToolParams{Name: "ping"}) // until one meets the closed pipe
				cancel()
			}
			err = received(t, "the first call", results)
			require.ErrorContains(t, err, "running: closed its stdin but did not exit; the call was sent")
			require.ErrorIs(t, err, stdio.ErrOutcomeUnknown)
			require.ErrorContains(t, transport.Err(), "closed its stdin but did not exit")
			w.Gone(t)
		})
	}
}

// Without a context, a server that reads nothing is failed, with all that waits
// for it.
func TestAServerThatDoesNotRead(t *testing.T) {
	transport, w := zoo(t, servers.Command("abstainer"), atEOF)
	stdio.SetStall(transport, short)
	c := handshake(t, transport)
	require.NoError(t, c.Write(t.Context(), message(t, 2, "ping", struct{}{})), "there is room")
	written := make(chan error, 2)
	for id := range 2 {
		go func() { written <- c.Write(context.Background(), huge(t, float64(3+id))) }()
	}
	for range 2 {
		err := received(t, "Write", written)
		require.ErrorIs(t, err, stdio.ErrStdinStalled)
		require.NotErrorIs(t, err, stdio.ErrClosed)
	}
	msg, err := c.Read(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, msg.(*jsonrpc.Response).Error, stdio.ErrStdinStalled)
	_, err = c.Read(t.Context())
	require.ErrorIs(t, err, stdio.ErrStdinStalled)
	require.ErrorContains(t, transport.Err(), "server has not read its stdin for 100ms")
	w.Gone(t)
}
