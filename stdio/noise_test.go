//go:build unix

package stdio_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// What a server prints between its messages is skipped; the first of it is quoted
// in the error if the server fails later.
func TestNoiseIsSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		before, lineEnd string
		first           string // as Error.Noise tells it
		quoted          string // as the text of the error does
	}{
		"banner":                  {"Server starting\n", "\n", "Server starting", `; not a message: "Server starting"`},
		"ANSI colours":            {"\x1b[32mready\x1b[0m\n", "\n", "\x1b[32mready\x1b[0m", `; not a message: "\x1b[32mready\x1b[0m"`},
		"JSON that is no message": {`{"level":"info","msg":"up"}` + "\n", "\n", `{"level":"info","msg":"up"}`, `; not a message: "{\"level\":\"info\",\"msg\":\"up\"}"`},
		"other JSON":              {"[]\n42\n\"up\"\nnull\n{}\n", "\n", "[]", `; not a message: "[]"`},
		"broken JSON":             {"{bad\n", "\n", "{bad", `; not a message: "{bad"`},
		"invalid UTF-8":           {"caf\xe9\n", "\n", "caf", `; not a message: "caf"`},
		"long":                    {strings.Repeat("=", 1000) + "\n", "\n", strings.Repeat("=", 256), `; not a message: "` + strings.Repeat("=", 256) + `"`},
		"CRLF":                    {"Server starting\r\n", "\r\n", "Server starting", `; not a message: "Server starting"`},
		"two log lines":           {"one\ntwo\n", "\n", "one", `; not a message: "one"`},
		"blank lines":             {"\n\r\n \t\n", "\n", "", ""},
		"spaces":                  {"  ", " \r\n", "", ""},
		"byte order mark":         {"\ufeff", "\n", "", ""},
		"mark and banner":         {"\ufeffup\n", "\n", "up", `; not a message: "up"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("chatterbox", c.before, c.lineEnd), atEOF)
			session := connect(t, transport)
			require.NoError(t, call(session))
			require.NoError(t, call(session))
			require.NoError(t, syscall.Kill(w.Await(t, "chatterbox")[0].PID, syscall.SIGKILL))
			require.Error(t, session.Wait())
			var typed *stdio.Error
			require.ErrorAs(t, session.Close(), &typed)
			require.Equal(t, c.first, typed.Noise)
			require.Contains(t, typed.Error(), "SIGKILL")
			if c.quoted == "" {
				require.NotContains(t, typed.Error(), "not a message")
			} else {
				require.Contains(t, typed.Error(), c.quoted)
			}
		})
	}
}

// A server that prints lines for ever, or a line without an end, is an error and
// not a hang, in the handshake as in a call, and it is killed.
func TestFloods(t *testing.T) {
	for server, is := range map[string]error{"flooder": stdio.ErrNoise, "endless": stdio.ErrLineTooLong} {
		for via, connect := range connectors {
			t.Run(server+"/at once/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, servers.Command(server), atEOF)
				err := bounded(t, "Connect", func() error {
					_, err := connect(t.Context(), transport)
					return err
				})
				w.Gone(t)
				require.ErrorContains(t, err, is.Error())
				require.NotErrorIs(t, err, stdio.ErrOutcomeUnknown, "nobody has called")
				if via == "stdio.Connect" {
					require.ErrorIs(t, err, is)
				}
				require.ErrorIs(t, transport.Err(), is)
			})
			t.Run(server+"/in a call/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, servers.Command(server, "call"), atEOF)
				session, err := connect(t.Context(), transport)
				require.NoError(t, err)
				err = bounded(t, "the call", func() error { return call(session) })
				w.Gone(t)
				require.ErrorIs(t, err, is)
				require.ErrorIs(t, err, stdio.ErrOutcomeUnknown)
				require.ErrorIs(t, transport.Err(), is)
				require.ErrorContains(t, session.Close(), is.Error())
			})
		}
	}
}
