//go:build unix

package stdio_test

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A message given up on while the server does not read leaves the stream whole:
// when the server reads on, it gets messages and no pieces.
func TestWriteToAServerThatReadsLater(t *testing.T) {
	transport, w := zoo(t, servers.Command("abstainer"), atEOF)
	c := handshake(t, transport)

	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- c.Write(ctx, huge(t, 2)) }()
	poll(t, "the write has not begun", func() bool { return stdio.Writing(transport) })
	cancel()
	require.ErrorIs(t, received(t, "Write", result), context.Canceled)
	expected := stdio.Pending(transport)

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Write(ctx, message(t, 3, "ping", struct{}{})), context.Canceled)

	go func() { result <- c.Write(context.Background(), huge(t, 4)) }()
	require.NoError(t, syscall.Kill(w.Await(t, "abstainer")[0].PID, syscall.SIGUSR1))
	require.NoError(t, <-result)
	require.NoError(t, c.Write(t.Context(), message(t, 5, "ping", struct{}{})))
	var answered []any
	for len(answered) == 0 || answered[len(answered)-1] != int64(5) {
		msg, err := c.Read(t.Context())
		require.NoError(t, err)
		answered = append(answered, msg.(*jsonrpc.Response).ID.Raw())
	}
	require.Equal(t, 2+expected, len(answered), "a call is waited for if some of it was on its way when its context ended")
	if expected == 0 {
		answered = append([]any{int64(2)}, answered...)
	}
	require.Equal(t, []any{int64(2), int64(4), int64(5)}, answered)
	require.NoError(t, c.Close())
	w.Gone(t)
}

// A server that stops reading after the handshake holds up neither a call whose
// context ends nor Close.
func TestCallToAServerThatDoesNotRead(t *testing.T) {
	for via, connect := range connectors {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("abstainer"), atTERM)
			session, err := connect(t.Context(), transport)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			err = bounded(t, "the call", func() error {
				_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: strings.Repeat("x", 2<<20)})
				return err
			})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if via != "stdio.Connect" {
				// Stock sessions wait 5 s for the notice that the call is given up.
				require.NoError(t, bounded(t, "Stop", func() error { return transport.Stop(t.Context()) }))
			}
			require.NoError(t, bounded(t, "Close", session.Close))
			w.Gone(t)
		})
	}
}

// Close ends a write that nothing else would end.
func TestCloseUnblocksAWrite(t *testing.T) {
	transport, w := zoo(t, servers.Command("abstainer"), atTERM)
	c := handshake(t, transport)
	result := make(chan error, 1)
	go func() { result <- c.Write(context.Background(), huge(t, 2)) }()
	poll(t, "the write has not begun", func() bool { return stdio.Writing(transport) })
	require.NoError(t, bounded(t, "Close", c.Close))
	require.ErrorIs(t, received(t, "Write", result), stdio.ErrClosed)
	w.Gone(t)
}

// What cannot be sent is refused, and costs the connection nothing.
func TestWriteThatIsRefused(t *testing.T) {
	transport, w := zoo(t, servers.Command("ordinary"), atEOF)
	c := handshake(t, transport)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, context.Canceled, c.Write(ctx, message(t, 2, "ping", struct{}{})))
	require.Zero(t, stdio.Pending(transport), "it was not sent")

	var typed *stdio.Error
	for _, nothing := range []jsonrpc.Message{nil, (*jsonrpc.Request)(nil), (*jsonrpc.Response)(nil)} {
		err := c.Write(t.Context(), nothing)
		require.ErrorIs(t, err, os.ErrInvalid)
		require.ErrorAs(t, err, &typed)
	}

	require.NoError(t, c.Write(t.Context(), message(t, 3, "ping", struct{}{})))
	msg, err := c.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3), msg.(*jsonrpc.Response).ID.Raw(), "the first thing that arrived")

	require.NoError(t, c.Close())
	err = c.Write(t.Context(), message(t, 4, "ping", struct{}{}))
	require.ErrorIs(t, err, stdio.ErrClosed)
	require.ErrorAs(t, err, &typed)
	require.Equal(t, stdio.PhaseStopping, typed.Phase)
	_, err = c.Read(t.Context())
	require.Equal(t, io.EOF, err, "and not one more pending call")
	w.Gone(t)
}

// After Close, a write fails because of Close, also where the server then had to
// be killed.
func TestWriteAfterTheKill(t *testing.T) {
	transport, w := zoo(t, servers.Command("stubborn"), atKILL)
	c := handshake(t, transport)
	require.ErrorIs(t, c.Close(), stdio.ErrKilled)
	w.Gone(t)
	require.ErrorIs(t, c.Write(t.Context(), message(t, 2, "ping", struct{}{})), stdio.ErrClosed)
}
