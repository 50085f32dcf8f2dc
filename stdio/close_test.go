//go:build unix

package stdio_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// Close ends the whole tree of every kind of server, and without the protection
// it does not.
func TestCloseEndsTheTree(t *testing.T) {
	for name, c := range map[string]struct {
		command func() *exec.Cmd
		members []string
		at      ends
		alone   bool // there is nobody but the leader: nothing to lose without protection
	}{
		"launcher that relays":   {func() *exec.Cmd { return servers.Command("launcher") }, []string{"launcher", "deaf"}, atTERM, false},
		"launcher that inherits": {func() *exec.Cmd { return servers.Command("launcher", "inherit") }, []string{"launcher", "deaf"}, atTERM, false},
		"helper of a shell": {func() *exec.Cmd {
			return servers.Shell("sh", "run sleeper </dev/null >/dev/null 2>&1 & "+servers.Exec("ordinary"))
		}, []string{"sleeper", "ordinary"}, atEOF, false},
		"shell that forks":              {func() *exec.Cmd { return servers.Shell("sh", "run stubborn; true") }, []string{"stubborn"}, atKILL, false},
		"shell that forks, obedient":    {func() *exec.Cmd { return servers.Shell("sh", "run ordinary; true") }, []string{"ordinary"}, atEOF, true},
		"session and daemon of its own": {func() *exec.Cmd { return servers.Command("escapist") }, []string{"escapist", "stubborn-sleeper", "stubborn-sleeper"}, atEOF, false},
		"child that ignores SIGTERM":    {func() *exec.Cmd { return servers.Command("deserter") }, []string{"deserter", "stubborn-sleeper"}, atKILL, false},
		"stubborn":                      {func() *exec.Cmd { return servers.Command("stubborn") }, []string{"stubborn"}, atKILL, true},
		"deaf":                          {func() *exec.Cmd { return servers.Command("deaf") }, []string{"deaf"}, atTERM, true},
		"ordinary":                      {func() *exec.Cmd { return servers.Command("ordinary") }, []string{"ordinary"}, atEOF, true},
	} {
		for via, connect := range connectors {
			t.Run(name+"/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, c.command(), c.at)
				session, err := connect(t.Context(), transport)
				require.NoError(t, err)
				w.Await(t, c.members...)
				require.NoError(t, call(session))
				err = session.Close()
				w.Gone(t)
				if c.at == atKILL {
					require.ErrorIs(t, err, stdio.ErrKilled)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, err, transport.Err())
			})
		}
		if c.alone {
			continue
		}
		t.Run(name+"/protection off", func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, c.command(), c.at)
			session := connect(t, stdio.Unprotected(transport))
			w.Await(t, c.members...)
			session.Close()
			require.NotEmpty(t, w.Alive(), "nobody survived: the test above proves nothing")
		})
	}
}

// A call that is never answered keeps nobody from closing, and the caller learns
// that it was the host who ended the server, and that the call may have been
// carried out.
func TestCloseWithACallInFlight(t *testing.T) {
	for name, stop := range map[string]func(*stdio.Session, *stdio.Transport) error{
		"Session.Close":  func(s *stdio.Session, _ *stdio.Transport) error { return s.Close() },
		"Transport.Stop": func(_ *stdio.Session, t *stdio.Transport) error { return t.Stop(context.Background()) },
	} {
		for server, at := range map[string]ends{"hanger": atEOF, "deaf-hanger": atTERM, "stubborn-hanger": atKILL} {
			t.Run(server+"/"+name, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, servers.Command(server), at)
				session, result := callInFlight(t, transport)

				err := stop(session, transport)
				w.Gone(t)
				if at == atKILL {
					require.ErrorIs(t, err, stdio.ErrKilled)
				} else {
					require.NoError(t, err)
				}
				err = <-result
				require.ErrorIs(t, err, stdio.ErrOutcomeUnknown)
				require.ErrorIs(t, err, stdio.ErrClosed)
				require.Equal(t, at == atKILL, isKilled(err))
				var typed *stdio.Error
				require.ErrorAs(t, err, &typed)
				require.Equal(t, stdio.PhaseStopping, typed.Phase)
				require.Error(t, call(session), "a later call")
			})
		}
	}
}

// A server that has stopped itself takes no SIGTERM until it is told to go on.
func TestCloseEndsAStoppedServer(t *testing.T) {
	transport, w := zoo(t, servers.Command("stopped"), atTERM)
	session := connect(t, transport)
	result := make(chan error, 1)
	go func() { result <- call(session) }()
	awaitStopped(t, w.Await(t, "stopped")[0].PID)
	require.NoError(t, session.Close(), "SIGCONT lets SIGTERM through")
	if err := <-result; err != nil { // it may answer between SIGCONT and SIGTERM
		require.ErrorIs(t, err, stdio.ErrOutcomeUnknown)
	}
	w.Gone(t)
}

// A handler of the host's own that ignores its context does not keep the session
// from closing.
func TestCloseWithAHangingHandler(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	entered := make(chan struct{})
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(entered)
			<-release
			return nil, os.ErrInvalid
		},
	})
	transport, w := zoo(t, servers.Command("asker"), atEOF)
	session, err := stdio.Connect(t.Context(), client, transport, nil)
	require.NoError(t, err)
	<-entered
	require.NoError(t, bounded(t, "Close", session.Close))
	w.Gone(t)
}
