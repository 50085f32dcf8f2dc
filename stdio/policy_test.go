package stdio_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// With FailOnNoise the first line that is no message is the end of the server, in
// the handshake as in a call.
func TestFailOnNoise(t *testing.T) {
	for via, connect := range connectors {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("chatterbox", "Server starting\n"), atEOF)
			transport.Noise = stdio.FailOnNoise
			_, err := connect(t.Context(), transport)
			w.Gone(t)
			require.ErrorContains(t, err, `FailOnNoise is set; not a message: "Server starting"`)
			require.ErrorIs(t, transport.Err(), stdio.ErrNoise)

			clean, w := zoo(t, servers.Command("chatterbox", "\n \r\n"), atEOF)
			clean.Noise = stdio.FailOnNoise
			session, err := connect(t.Context(), clean)
			require.NoError(t, err, "blank lines are no noise")
			require.NoError(t, session.Close())
			w.Gone(t)
		})
	}
}

// The hook gets every line of noise before the message that follows, and may keep
// it.
func TestOnNoise(t *testing.T) {
	last := "two \xff"
	if runtime.GOOS == "windows" {
		last = "two" // arguments are Unicode there
	}
	transport, w := zoo(t, servers.Command("chatterbox", "one\n{}\n\n"+last+"\r\n"), atEOF)
	var lines [][]byte
	transport.OnNoise = func(line []byte) { lines = append(lines, line) }
	session := connect(t, transport) // two answers
	require.NoError(t, call(session))
	want := [][]byte{[]byte("one"), []byte("{}"), []byte(last)}
	require.Equal(t, append(append(want, want...), want...), lines)
	require.NoError(t, session.Close())
	w.Gone(t)
}

// Whatever a hook does, it does to its own server only.
func TestOnNoiseThatMisbehaves(t *testing.T) {
	healthy, _ := zoo(t, servers.Command("ordinary"), atEOF)
	other := connect(t, healthy)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, c := range map[string]struct {
		hook func([]byte)
		says string
	}{
		"panics":                {func([]byte) { panic("boom") }, "OnNoise panicked: boom"},
		"ends its goroutine":    {func([]byte) { runtime.Goexit() }, "OnNoise did not return"},
		"blocks in a handshake": {func([]byte) { <-release }, stdio.ErrHandshakeTimeout.Error()},
	} {
		for via, connect := range connectors {
			t.Run(name+"/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, servers.Command("chatterbox", "up\n"), atEOF)
				transport.OnNoise = c.hook
				if name == "blocks in a handshake" {
					transport.HandshakeTimeout = short
				}
				err := bounded(t, "Connect", func() error {
					_, err := connect(t.Context(), transport)
					return err
				})
				require.ErrorContains(t, err, c.says)
				require.ErrorContains(t, transport.Err(), c.says)
				w.Gone(t)
				require.NoError(t, call(other))
			})
		}
	}
}
