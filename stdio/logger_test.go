package stdio_test

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// logTo makes transport log into the buffer, which may be read when it has ended.
func logTo(transport *stdio.Transport, level slog.Level) *bytes.Buffer {
	var out bytes.Buffer
	transport.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))
	return &out
}

var event = regexp.MustCompile(`level=(\w+) msg="stdio: ([^"]*)" server=zoo elapsed=`)

// story is the levels and messages of a log, in their order.
func story(t *testing.T, log string) (events []string) {
	t.Helper()
	for line := range strings.Lines(log) {
		m := event.FindStringSubmatch(line)
		require.NotNil(t, m, "%s", line)
		events = append(events, m[1]+" "+m[2])
	}
	return events
}

func TestLogger(t *testing.T) {
	for name, c := range map[string]struct {
		server []string
		ends   ends
		want   []string
	}{
		"a good end": {[]string{"ordinary"}, atEOF, []string{
			"INFO server spawned", "INFO server ready", "INFO stopping the server",
			"INFO server exited, sweeping its tree", "INFO tree swept"}},
		"killed": {[]string{"stubborn"}, atKILL, []string{
			"INFO server spawned", "INFO server ready", "INFO stopping the server", "INFO stopping the server",
			"WARN stopping the server", "INFO server exited, sweeping its tree", "WARN tree swept"}},
		"noise": {[]string{"chatterbox", "up\n"}, atEOF, []string{
			"INFO server spawned", "WARN a line on stdout is no message, no more of them are logged", "INFO server ready",
			"INFO stopping the server", "INFO server exited, sweeping its tree", "INFO tree swept"}},
		"two lives": {[]string{"purist"}, atEOF, []string{
			"INFO server spawned", "INFO server exited, sweeping its tree", "INFO server spawned",
			"INFO server/discover answered in place of the server", "INFO server ready", "INFO stopping the server",
			"INFO server exited, sweeping its tree", "INFO tree swept"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command(c.server[0], c.server[1:]...), c.ends)
			out := logTo(transport, slog.LevelInfo)
			session := connect(t, transport)
			session.Close()
			w.Gone(t)
			want := c.want
			if runtime.GOOS == "windows" && c.ends == atKILL {
				want = slices.Delete(slices.Clone(want), 3, 4) // no SIGTERM there
			}
			require.Equal(t, want, story(t, out.String()))
			require.NotContains(t, out.String(), "msg=\"stdio: the line")
		})
	}
}

// A failure is a warning with the one-line error; what the caller has asked for is
// none.
func TestLoggerOfAFailure(t *testing.T) {
	transport, w := zoo(t, servers.Command("brittle"), atEOF)
	out := logTo(transport, slog.LevelWarn)
	_, err := stdio.Connect(t.Context(), newClient(), transport, nil)
	require.Error(t, err)
	w.Gone(t)
	require.Equal(t, []string{"WARN tree swept"}, story(t, out.String()))
	require.Contains(t, out.String(), `handshake: exit status 3 (pid`)
	require.NotContains(t, out.String(), "API_KEY", "what the server prints may hold anything")
	require.Contains(t, out.String(), `exit="exit status 3"`)

	transport, w = zoo(t, servers.Command("mute"), atEOF)
	out = logTo(transport, slog.LevelWarn)
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	_, err = stdio.Connect(ctx, newClient(), transport, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	w.Gone(t)
	for _, event := range story(t, out.String()) {
		require.Equal(t, "WARN stopping the server", event, "the kill, and nothing else")
	}
}

// 100 servers come and go, and nothing of it is a warning.
func TestLoggerOfAnOrdinaryServer(t *testing.T) {
	for range 100 {
		transport, _ := zoo(t, servers.Command("ordinary"), atEOF)
		out := logTo(transport, slog.LevelWarn)
		session := connect(t, transport)
		require.NoError(t, session.Close())
		require.Empty(t, out.String())
	}
}

// Neither arguments nor environment nor messages are logged, and what a line of
// noise says is at debug level only.
func TestLoggerKeepsSecrets(t *testing.T) {
	for level, want := range map[slog.Level]bool{slog.LevelInfo: false, slog.LevelDebug: true} {
		transport, w := zoo(t, servers.Command("chatterbox", "hunter2\n"), atEOF)
		transport.Command.Env = append(transport.Command.Env, "API_KEY=T0PS3CRET")
		transport.Command.Args = append(transport.Command.Args, "\n", "--token=T0PS3CRET")
		out := logTo(transport, level)
		session := connect(t, transport)
		require.NoError(t, call(session))
		require.NoError(t, session.Close())
		w.Gone(t)
		require.NotContains(t, out.String(), "T0PS3CRET")
		require.NotContains(t, out.String(), "pong")
		require.Equal(t, want, strings.Contains(out.String(), "hunter2"))
	}
}

type handlerFunc func(slog.Record) error

func (f handlerFunc) Enabled(context.Context, slog.Level) bool      { return true }
func (f handlerFunc) Handle(_ context.Context, r slog.Record) error { return f(r) }
func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler            { return f }
func (f handlerFunc) WithGroup(string) slog.Handler                 { return f }

// A handler that panics fails its server, one that blocks does not even that.
func TestLoggerThatMisbehaves(t *testing.T) {
	healthy, _ := zoo(t, servers.Command("ordinary"), atEOF)
	other := connect(t, healthy)
	for name, handle := range map[string]handlerFunc{
		"Logger panicked: boom": func(slog.Record) error { panic("boom") },
		"Logger did not return": func(slog.Record) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			transport, w := zoo(t, servers.Command("mute"), atEOF)
			transport.Logger = slog.New(handle)
			_, err := stdio.Connect(t.Context(), newClient(), transport, nil)
			require.ErrorContains(t, err, name)
			w.Gone(t)
			require.NoError(t, call(other))
		})
	}
	t.Run("blocks", func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		transport, w := zoo(t, servers.Command("ordinary"), atEOF)
		transport.Logger = slog.New(handlerFunc(func(slog.Record) error { <-release; return nil }))
		session := connect(t, transport)
		require.NoError(t, call(session))
		require.NoError(t, bounded(t, "Close", session.Close))
		w.Gone(t)
	})
}
