//go:build unix

package stdio_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// Cases 1, 2, 3, 4, 5 and 15: Close ends the whole tree of every kind of server,
// and without the protection it does not.
func TestCloseEndsTheTree(t *testing.T) {
	for name, c := range map[string]struct {
		command func() *exec.Cmd
		members []string
		killed  bool // Close says that it had to kill
		alone   bool // there is nobody but the leader: nothing to lose without protection
	}{
		"launcher that relays":   {func() *exec.Cmd { return servers.Command("launcher") }, []string{"launcher", "deaf"}, false, false},
		"launcher that inherits": {func() *exec.Cmd { return servers.Command("launcher", "inherit") }, []string{"launcher", "deaf"}, false, false},
		"helper of a shell": {func() *exec.Cmd {
			return servers.Shell("sh", "run sleeper </dev/null >/dev/null 2>&1 & "+servers.Exec("ordinary"))
		}, []string{"sleeper", "ordinary"}, false, false},
		"shell that forks":              {func() *exec.Cmd { return servers.Shell("sh", "run stubborn; true") }, []string{"stubborn"}, true, false},
		"shell that forks, obedient":    {func() *exec.Cmd { return servers.Shell("sh", "run ordinary; true") }, []string{"ordinary"}, false, true},
		"session and daemon of its own": {func() *exec.Cmd { return servers.Command("escapist") }, []string{"escapist", "stubborn-sleeper", "stubborn-sleeper"}, false, false},
		"child that ignores SIGTERM":    {func() *exec.Cmd { return servers.Command("deserter") }, []string{"deserter", "stubborn-sleeper"}, true, false},
		"stubborn":                      {func() *exec.Cmd { return servers.Command("stubborn") }, []string{"stubborn"}, true, true},
		"deaf":                          {func() *exec.Cmd { return servers.Command("deaf") }, []string{"deaf"}, false, true},
		"ordinary":                      {func() *exec.Cmd { return servers.Command("ordinary") }, []string{"ordinary"}, false, true},
	} {
		for via, connect := range connectors {
			t.Run(name+"/"+via, func(t *testing.T) {
				transport, w := zoo(t, c.command())
				if slices.Contains(c.members, "escapist") {
					// Its leader ends at end of file: that rung must outlast the sweep.
					transport.TerminateDuration = time.Minute
				}
				session, err := connect(t.Context(), transport)
				require.NoError(t, err)
				w.Await(t, c.members...)
				require.NoError(t, call(session))
				err = session.Close()
				w.Gone(t)
				if c.killed {
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
			transport, w := zoo(t, c.command())
			session := connect(t, stdio.Unprotected(transport))
			w.Await(t, c.members...)
			session.Close()
			require.NotEmpty(t, w.Alive(), "nobody survived: the test above proves nothing")
		})
	}
}

// Case 17: a call that is never answered keeps nobody from closing.
func TestCloseWithACallInFlight(t *testing.T) {
	for name, stop := range map[string]func(*stdio.Session, *stdio.Transport) error{
		"Session.Close":  func(s *stdio.Session, _ *stdio.Transport) error { return s.Close() },
		"Transport.Stop": func(_ *stdio.Session, t *stdio.Transport) error { return t.Stop(context.Background()) },
	} {
		for _, server := range []string{"hanger", "deaf-hanger"} {
			t.Run(server+"/"+name, func(t *testing.T) {
				transport, w := zoo(t, servers.Command(server))
				arrived, stderr, err := os.Pipe()
				require.NoError(t, err)
				defer arrived.Close()
				defer stderr.Close()
				transport.Stderr = stderr
				session := connect(t, transport)
				result := make(chan error, 1)
				go func() { result <- call(session) }()
				_, err = arrived.Read(make([]byte, 1)) // the server has the call
				require.NoError(t, err)

				require.NoError(t, stop(session, transport))
				w.Gone(t)
				err = <-result
				require.ErrorIs(t, err, stdio.ErrOutcomeUnknown)
				require.ErrorIs(t, err, stdio.ErrClosed)
				var typed *stdio.Error
				require.ErrorAs(t, err, &typed)
				require.Equal(t, stdio.PhaseStopping, typed.Phase)
				require.Error(t, call(session), "a later call")
			})
		}
	}
}

// A stock session waits for the call, but Stop ends that, too.
func TestStopUnblocksCloseOfTheStockSession(t *testing.T) {
	transport, w := zoo(t, servers.Command("deaf-hanger"))
	session, err := newClient().Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	var waiting sync.WaitGroup
	waiting.Go(func() { call(session) })
	waiting.Go(func() { session.Close() })
	require.NoError(t, transport.Stop(t.Context()))
	waiting.Wait()
	w.Gone(t)
}

// The rungs are an hour: only the second Stop, or the end of its context, lets
// this end.
func TestStopInAHurry(t *testing.T) {
	for name, hurry := range map[string]func(*stdio.Transport) error{
		"second Stop": func(transport *stdio.Transport) error {
			first := make(chan error, 1)
			go func() { first <- transport.Stop(context.Background()) }()
			go func() { first <- transport.Stop(context.Background()) }()
			<-first
			return <-first
		},
		"context": func(transport *stdio.Transport) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return transport.Stop(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			transport, w := zoo(t, servers.Command("deaf"))
			transport.TerminateDuration = time.Hour
			connect(t, transport)
			require.ErrorIs(t, hurry(transport), stdio.ErrKilled)
			w.Gone(t)
		})
	}
}

// Case 39.
func TestCloseEndsAStoppedServer(t *testing.T) {
	transport, w := zoo(t, servers.Command("stopped"))
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

// Case 37, and its counterpart.
func TestContexts(t *testing.T) {
	t.Run("of Connect", func(t *testing.T) {
		for via, connect := range connectors {
			transport, w := zoo(t, servers.Command("ordinary"))
			ctx, cancel := context.WithCancel(t.Context())
			session, err := connect(ctx, transport)
			require.NoError(t, err, via)
			cancel()
			require.NoError(t, call(session), via)
			require.NoError(t, session.Close(), via)
			w.Gone(t)
		}
	})
	t.Run("of the command", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := servers.NewWitness(t)
		transport := stdio.CommandContext(ctx, "sh")
		transport.Command.Args = servers.Shell("sh", "run stubborn; true").Args
		transport.Command.Env = servers.Shell("sh", "").Env
		w.Watch(transport.Command)
		session := connect(t, transport)
		cancel()
		require.Error(t, session.Wait())
		w.Gone(t)
		require.ErrorContains(t, transport.Err(), "the context of its command ended")
		require.ErrorContains(t, call(session), "the context of its command ended")
	})
}

// Case 29: neither the stop nor the failure of one server is felt by another, or
// by a child of the host that has nothing to do with either.
func TestServersAreIsolated(t *testing.T) {
	w := servers.NewWitness(t)
	plain := w.Watch(servers.Command("sleeper"))
	require.NoError(t, plain.Start())
	defer plain.Wait()
	defer plain.Process.Kill()
	start := func(name string) *stdio.Session {
		return connect(t, &stdio.Transport{Command: w.Watch(servers.Command(name)), TerminateDuration: short})
	}
	one, two := start("stubborn"), start("ordinary")
	w.Await(t, "stubborn", "ordinary", "sleeper")
	require.ErrorIs(t, one.Close(), stdio.ErrKilled)
	w.Left(t, "ordinary", "sleeper")
	require.NoError(t, call(two))

	broken := &stdio.Transport{Command: w.Watch(servers.Command("brittle"))}
	_, err := stdio.Connect(t.Context(), newClient(), broken, nil)
	require.Error(t, err)
	require.NoError(t, call(two))
	w.Left(t, "ordinary", "sleeper")
	require.NoError(t, two.Close())
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
	transport, w := zoo(t, servers.Command("asker"))
	session, err := stdio.Connect(t.Context(), client, transport, nil)
	require.NoError(t, err)
	<-entered
	require.NoError(t, session.Close())
	w.Gone(t)
}
