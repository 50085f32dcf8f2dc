//go:build unix

package stdio_test

import (
	"context"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// lives is how often a purist was started.
func lives(w *servers.Witness) (n int) {
	for _, s := range w.All() {
		if s.Name == "purist" {
			n++
		}
	}
	return n
}

// A server from before server/discover connects, whether it ends itself at the
// probe, ignores it or answers it too late, and nothing is left of its first life.
func TestServersFromBeforeTheProbe(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		ends  ends
		lives int
		alive []string // once it is connected
	}{
		"exits":               {nil, atEOF, 2, []string{"purist"}},
		"exits, with a child": {[]string{"parent"}, atKILL, 2, []string{"purist", "stubborn-sleeper"}},
		"ignores it":          {[]string{"patient"}, atEOF, 1, []string{"purist"}},
		"answers it late":     {[]string{"late"}, atEOF, 1, []string{"purist"}},
	} {
		for via, connect := range connectors {
			t.Run(name+"/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, servers.Command("purist", c.args...), c.ends)
				if c.lives == 1 {
					stdio.SetProbeTimeout(transport, 50*time.Millisecond)
				}
				session, err := connect(t.Context(), transport)
				require.NoError(t, err)
				w.Left(t, c.alive...)
				require.Equal(t, c.lives, lives(w))
				require.NoError(t, call(session))
				require.NoError(t, call(session))
				err = session.Close()
				w.Gone(t)
				if c.ends == atEOF {
					require.NoError(t, err)
				}
			})
		}
	}
}

// A server that ends in its second life as well is not started a third time, and
// the error is about the second.
func TestAServerIsStartedOnceMoreOnly(t *testing.T) {
	for via, connect := range connectors {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("purist", "hopeless"), atEOF)
			_, err := connect(t.Context(), transport)
			w.Gone(t)
			require.ErrorContains(t, err, `handshake: exit status 8; stderr: "fatal: no license"`)
			require.Equal(t, 2, lives(w))
			var exit *exec.ExitError
			require.ErrorAs(t, transport.Err(), &exit)
			require.Equal(t, 8, exit.ExitCode())
		})
	}
}

// What has not read the probe did not end because of it.
func TestAServerThatExitsUnaskedIsNotStartedAgain(t *testing.T) {
	transport, w := zoo(t, servers.Shell("sh", "run purist parent </dev/null; exit 3"), atEOF)
	requireShell(t, transport.Command)
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED for want of a look into the pipe: only Linux has it")
	}
	_, err := stdio.Connect(t.Context(), newClient(), transport, nil)
	require.ErrorContains(t, err, "exit status 3")
	w.Gone(t)
	require.Equal(t, 1, lives(w))
}

// After the handshake a request is a request, whatever its name: a death of it is a
// death.
func TestDiscoverAfterTheHandshakeIsNoProbe(t *testing.T) {
	transport, w := zoo(t, servers.Command("purist"), atEOF)
	c := handshake(t, transport)
	require.NoError(t, c.Write(t.Context(), message(t, 2, "server/discover", struct{}{})))
	msg, err := c.Read(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, msg.(*jsonrpc.Response).Error, "running: exit status 7; the call was sent")
	_, err = c.Read(t.Context())
	require.ErrorContains(t, err, "exit status 7")
	w.Gone(t)
	require.Equal(t, 1, lives(w))
}

// The context of its command ends a server in its second life, too.
func TestTheSecondLifeHasTheSameContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := servers.NewWitness(t)
	transport := stdio.CommandContext(ctx, "replaced below")
	cmd := w.Watch(servers.Command("purist"))
	transport.Command.Path, transport.Command.Args, transport.Command.Err = cmd.Path, cmd.Args, nil
	transport.Command.Env = cmd.Env
	session := connect(t, transport)
	w.Await(t, "purist", "purist")
	require.NoError(t, call(session))
	cancel()
	require.Error(t, session.Wait())
	w.Gone(t)
	require.ErrorContains(t, transport.Err(), "the context of its command ended")
}
