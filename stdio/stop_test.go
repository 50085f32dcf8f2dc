//go:build unix

package stdio_test

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func isKilled(err error) bool { return errors.Is(err, stdio.ErrKilled) }

// A stock session waits for the call, but Stop ends that, too.
func TestStopUnblocksCloseOfTheStockSession(t *testing.T) {
	transport, w := zoo(t, servers.Command("deaf-hanger"), atTERM)
	session, err := newClient().Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	var waiting sync.WaitGroup
	waiting.Go(func() { call(session) })
	waiting.Go(func() { session.Close() })
	require.NoError(t, transport.Stop(t.Context()))
	bounded(t, "the call and Close", func() error { waiting.Wait(); return nil })
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
			t.Parallel()
			transport, w := zoo(t, servers.Command("deaf"), atTERM)
			transport.TerminateDuration = time.Hour
			connect(t, transport)
			require.ErrorIs(t, bounded(t, "Stop", func() error { return hurry(transport) }), stdio.ErrKilled)
			w.Gone(t)
		})
	}
}

// Stop in the middle of the handshake: Connect says that it was the host who ended
// the server, and not that the server failed.
func TestStopDuringTheHandshake(t *testing.T) {
	for name, c := range map[string]struct {
		command func() *exec.Cmd
		member  string
		at      ends
		is      error
	}{
		"ends at end of file": {func() *exec.Cmd { return servers.Command("mute") }, "mute", atEOF, stdio.ErrClosed},
		"has to be killed":    {func() *exec.Cmd { return servers.Command("stubborn-sleeper") }, "stubborn-sleeper", atKILL, stdio.ErrKilled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, c.command(), c.at)
			result := make(chan error, 1)
			go func() {
				_, err := stdio.Connect(context.Background(), newClient(), transport, nil)
				result <- err
			}()
			w.Await(t, c.member)
			stopErr := transport.Stop(t.Context())
			require.Equal(t, c.at == atKILL, isKilled(stopErr))
			err := <-result
			w.Gone(t)
			require.ErrorIs(t, err, c.is)
			require.NotErrorIs(t, err, context.Canceled)
			var typed *stdio.Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, stdio.PhaseStopping, typed.Phase)
		})
	}
}

// The context of Connect bounds the handshake, that of the command the life.
func TestContexts(t *testing.T) {
	t.Run("of Connect", func(t *testing.T) {
		t.Parallel()
		for via, connect := range connectors {
			transport, w := zoo(t, servers.Command("ordinary"), atEOF)
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
		t.Parallel()
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
		require.ErrorIs(t, transport.Err(), stdio.ErrClosed)
	})
}
