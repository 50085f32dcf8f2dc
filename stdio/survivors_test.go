//go:build unix

package stdio

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/procgroup"
)

// immortal is a server of which a process survives SIGKILL.
func immortal(refuses bool) (*Transport, *procgroup.SurvivorsError) {
	survivors := &procgroup.SurvivorsError{
		Processes: []procgroup.Process{{PID: 4711, State: "blocked", Argv: []string{"nfsd", "--secret"}}},
	}
	fake := newFakeProcess("")
	fake.killErr, fake.waitErr = survivors, survivors
	t := inProcess{fake, refuses}.as(&Transport{Command: exec.Command("fake"), TerminateDuration: time.Millisecond})
	return t, survivors
}

func requireSurvivors(t *testing.T, err error, want *procgroup.SurvivorsError) {
	t.Helper()
	var typed *Error
	require.ErrorAs(t, err, &typed)
	require.Nil(t, typed.Exit, "nobody has seen it end")
	var survivors *procgroup.SurvivorsError
	require.ErrorAs(t, err, &survivors)
	require.Same(t, want, survivors)
	require.ErrorContains(t, err, `pid 4711 "nfsd" (blocked)`)
	require.NotContains(t, err.Error(), "--secret")
}

// Whoever survives the kill is in every error that tells of the end.
func TestSurvivorsAreReported(t *testing.T) {
	t.Run("Close", func(t *testing.T) {
		transport, want := immortal(false)
		session, err := Connect(t.Context(), newTestClient(), transport, nil)
		require.NoError(t, err)
		err = session.Close()
		requireSurvivors(t, err, want)
		require.ErrorIs(t, err, ErrKilled)
		require.Equal(t, err, transport.Err())
		require.Equal(t, err, transport.Stop(t.Context()))
	})
	t.Run("Connect that is refused", func(t *testing.T) {
		transport, want := immortal(true)
		_, err := Connect(t.Context(), newTestClient(), transport, nil)
		requireSurvivors(t, err, want)
		require.ErrorContains(t, err, "no license for this host")
		requireSurvivors(t, transport.Err(), want)
	})
	t.Run("Connect that times out", func(t *testing.T) {
		transport, want := immortal(false)
		transport.HandshakeTimeout = time.Nanosecond
		_, err := Connect(t.Context(), newTestClient(), transport, nil)
		requireSurvivors(t, err, want)
		require.ErrorIs(t, err, ErrHandshakeTimeout)
		requireSurvivors(t, transport.Err(), want)
	})
	t.Run("flood", func(t *testing.T) {
		transport, want := immortal(false)
		session, err := Connect(t.Context(), newTestClient(), transport, nil)
		require.NoError(t, err)
		session.conn.fail(ErrNoise)
		requireSurvivors(t, session.Close(), want)
		require.ErrorIs(t, session.Close(), ErrNoise)
	})
}

// The leader has ended by itself, and the sweep of what it left goes on when the
// host closes: that is a crash and no stop, whatever it takes to end the rest.
func TestACrashThatIsBeingSweptStaysACrash(t *testing.T) {
	failed := exec.Command(os.Args[0], "-test.run=[") // a pattern that is refused
	exit := failed.Run()
	require.ErrorAs(t, exit, new(*exec.ExitError))

	fake := newFakeProcess("")
	fake.exited, fake.waitErr = make(chan struct{}), exit
	transport := inProcess{fake, false}.as(&Transport{Command: exec.Command("fake"), TerminateDuration: time.Millisecond})
	session, err := Connect(t.Context(), newTestClient(), transport, nil)
	require.NoError(t, err)
	close(fake.exited)
	require.Eventually(t, func() bool { return Crashed(transport) }, 40*time.Second, time.Millisecond)
	err = session.Close() // comes to the last rung: the fake ends at nothing else
	require.ErrorContains(t, err, "running: "+exit.Error())
	require.False(t, errors.Is(err, ErrKilled) || errors.Is(err, ErrClosed), err)
	require.True(t, strings.HasPrefix(err.Error(), "stdio: fake: running"))
}
