package stdio_test

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// killedBySomebody is how an error tells of a server that was killed. Windows knows no
// more than a status.
var killedBySomebody = map[bool]string{
	false: "signal: killed (SIGKILL, not sent by this host)", true: "exit status 1",
}[runtime.GOOS == "windows"]

// A server is killed with 20 calls pending: each of them fails, and says what of.
func TestEveryPendingCallLearnsOfTheDeath(t *testing.T) {
	for via, connect := range connectors {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			const calls = 20
			transport, _ := zoo(t, servers.Command("suicide", fmt.Sprint(calls)), atEOF)
			session, err := connect(t.Context(), transport)
			require.NoError(t, err)
			results := make(chan error, calls)
			for range calls {
				go func() { results <- call(session) }()
			}
			for range calls {
				err := received(t, "a call", results)
				require.ErrorContains(t, err, killedBySomebody)
				require.ErrorIs(t, err, stdio.ErrOutcomeUnknown)
				require.NotErrorIs(t, err, stdio.ErrClosed)
				var exit *exec.ExitError
				require.ErrorAs(t, err, &exit)
			}
			require.Zero(t, stdio.Pending(transport))
			require.ErrorContains(t, call(session), killedBySomebody, "a later call")
			require.Equal(t, transport.Err(), transport.Stop(t.Context()))
		})
	}
}

// A reply that is written just before the server exits is not lost.
func TestTheLastReplyIsNotLost(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		transport := &stdio.Transport{Command: servers.Command("parting"), TerminateDuration: long}
		session, err := stdio.Connect(t.Context(), newClient(), transport, nil)
		require.NoError(t, err)
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ping"})
		require.NoError(t, err)
		require.Equal(t, "pong", result.Content[0].(*mcp.TextContent).Text)
		require.NoError(t, session.Close(), "it exited with status 0")
	}
}

// What a server has written is still read when it has ended, though more of it is
// in the pipe than any buffer holds, and the client begins to read only then.
func TestWhatADeadServerWroteIsRead(t *testing.T) {
	const notifications = 50
	transport, w := zoo(t, servers.Command("parting", fmt.Sprint(notifications)), atEOF)
	c := handshake(t, transport)
	require.NoError(t, c.Write(t.Context(), message(t, 2, "tools/call", struct{}{})))
	poll(t, "the end was not seen", func() bool { return stdio.Crashed(transport) })
	w.Gone(t)
	for range notifications {
		msg, err := c.Read(t.Context())
		require.NoError(t, err)
		require.IsType(t, &jsonrpc.Request{}, msg)
	}
	msg, err := c.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, msg.(*jsonrpc.Response).Error)
	_, err = c.Read(t.Context())
	require.ErrorContains(t, err, "exited with status 0")
	require.NoError(t, c.Close())
}

// While what a server left behind is being swept, its end is told as what it is,
// though the host has asked for the end of it by then.
func TestACrashStaysACrash(t *testing.T) {
	for name, stop := range map[string]func(*stdio.Session, *stdio.Transport) error{
		"Session.Close":  func(s *stdio.Session, _ *stdio.Transport) error { return s.Close() },
		"Transport.Stop": func(_ *stdio.Session, t *stdio.Transport) error { return t.Stop(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("crasher"), atKILL)
			session := connect(t, transport)
			w.Await(t, "crasher", "stubborn-sleeper")
			result := make(chan error, 1)
			go func() { result <- call(session) }()
			poll(t, "the crash was not seen", func() bool { return stdio.Crashed(transport) })
			stopErr := stop(session, transport)
			w.Gone(t)
			callErr := <-result
			require.ErrorIs(t, callErr, stdio.ErrOutcomeUnknown)
			for _, err := range []error{stopErr, callErr, transport.Err()} {
				require.ErrorContains(t, err, `stdio: zoo: running: exit status 3`)
				require.ErrorContains(t, err, `stderr: "loading | fatal: the disk is full"`)
				var typed *stdio.Error
				require.ErrorAs(t, err, &typed)
				require.Equal(t, 3, typed.Exit.ExitCode())
				require.NotErrorIs(t, err, stdio.ErrKilled)
			}
			require.NotErrorIs(t, stopErr, stdio.ErrClosed)
			require.NotErrorIs(t, callErr, stdio.ErrClosed)
		})
	}
}
