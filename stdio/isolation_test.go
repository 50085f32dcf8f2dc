package stdio_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// Neither the stop nor the failure of one server is felt by another, or by a
// child of the host that has nothing to do with either.
func TestServersAreIsolated(t *testing.T) {
	w := servers.NewWitness(t)
	plain := w.Watch(servers.Command("sleeper"))
	require.NoError(t, plain.Start())
	defer plain.Wait()
	defer plain.Process.Kill()
	start := func(name string, at ends) *stdio.Session {
		transport := &stdio.Transport{Command: w.Watch(servers.Command(name))}
		at.rungs(transport)
		return connect(t, transport)
	}
	one, two := start("stubborn", atKILL), start("ordinary", atEOF)
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

// Five servers are started at once by one client, and one exits at once: that is
// told of it alone, and not as somebody's cancelled context.
func TestOneOfFiveExitsAtOnce(t *testing.T) {
	client := newClient()
	var (
		all      sync.WaitGroup
		sessions [4]*stdio.Session
		errs     [5]error
	)
	for i := range errs {
		all.Go(func() {
			name := "ordinary"
			if i == len(sessions) {
				name = "brittle"
			}
			transport := &stdio.Transport{Command: servers.Command(name)}
			atEOF.rungs(transport)
			s, err := stdio.Connect(t.Context(), client, transport, nil)
			if errs[i] = err; err == nil {
				sessions[i] = s
			}
		})
	}
	all.Wait()
	for i, s := range sessions {
		require.NoError(t, errs[i])
		require.NoError(t, call(s))
	}
	require.ErrorContains(t, errs[4], "fatal: API_KEY is not set")
	require.False(t, errors.Is(errs[4], context.Canceled))
	for _, s := range sessions {
		require.NoError(t, call(s))
		require.NoError(t, s.Close())
	}
}

// A second Connect is refused, and the server of the first does not feel it.
func TestConnectIsForOnce(t *testing.T) {
	transport, w := zoo(t, servers.Command("ordinary"), atEOF)
	session := connect(t, transport)
	for via, connect := range connectors {
		_, err := connect(t.Context(), transport)
		require.Error(t, err, via)
		require.ErrorContains(t, err, "already connected")
		if via == "stdio.Connect" {
			require.ErrorIs(t, err, os.ErrInvalid)
		}
		require.NoError(t, transport.Err(), "nothing has happened to the first")
		require.NoError(t, call(session), "the first session goes on")
		w.Left(t, "ordinary")
	}
	require.NoError(t, transport.Stop(t.Context()), "and is still the one that is stopped")
	w.Gone(t)

	stopped, _ := zoo(t, servers.Command("ordinary"), atEOF)
	require.NoError(t, stopped.Stop(t.Context()))
	_, err := stdio.Connect(t.Context(), newClient(), stopped, nil)
	require.ErrorIs(t, err, stdio.ErrClosed)

	_, err = stdio.Connect(t.Context(), nil, nil, nil)
	require.ErrorIs(t, err, os.ErrInvalid)
}
