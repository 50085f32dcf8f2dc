package stdio

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// nasty is what no terminal and no log should get: control characters, line
// ends, marks that reorder the text around them, and bytes that are no UTF-8.
const nasty = "a\x00\x07\x1b[2J\r\n\t\x7f\u0085\u2028\u202e\u2066\u200f\u200b\ufeff\xff\xc3"

// The text is one line of at most 4 KiB of what can be printed, whatever the server
// has put into each part of it, and ends with the pid and the time.
func TestErrorTextIsBoundedAndClean(t *testing.T) {
	long := strings.Repeat(nasty, 5000)
	for name, e := range map[string]*Error{
		"everything": {Server: long, Phase: PhaseRunning, Stderr: long, Noise: long, Err: errors.New(long)},
		"name":       {Server: long, Phase: PhaseRunning},
		"cause":      {Server: "s", Phase: PhaseRunning, Err: errors.New(long)},
		"stderr":     {Server: "s", Phase: PhaseRunning, Stderr: long, Err: errExited},
		"noise":      {Server: "s", Phase: PhaseRunning, Noise: long, Err: errExited},
		"short":      {Server: nasty, Phase: PhaseRunning, Stderr: nasty, Noise: nasty, Err: errors.New(nasty)},
		"plain":      {Server: strings.Repeat("s", 5000), Phase: PhaseRunning},
		"wide":       {Server: strings.Repeat("本", 5000), Phase: PhaseRunning},
	} {
		t.Run(name, func(t *testing.T) {
			e.pid, e.Elapsed = 4711, 1234567*time.Microsecond
			for _, e := range []*Error{e, {Server: e.Server, Phase: e.Phase, Err: orphan{e, true}}} {
				text := e.Error()
				require.LessOrEqual(t, len(text), 4<<10)
				require.True(t, utf8.ValidString(text))
				bad := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
				require.Negative(t, bad, "%q", text)
			}
			require.True(t, strings.HasPrefix(e.Error(), "stdio: "))
			require.True(t, strings.HasSuffix(e.Error(), " (pid 4711, after 1.235s)"))
		})
	}
}

// What an operator needs is there when the stderr is long: the cause comes first,
// and of stderr the last three lines.
func TestErrorTextKeepsWhatCounts(t *testing.T) {
	e := &Error{
		Server: "weather", Phase: PhaseHandshake, Elapsed: 1500 * time.Millisecond,
		Stderr: strings.Repeat("debug\n", 1000) + "one\n\ntwo\n  three\n", Noise: "Hello \"world\"", Err: errExited,
	}
	require.Equal(t, `stdio: weather: handshake: exited with status 0; not a message: "Hello \"world\""; stderr: "one | two | three" (after 1.5s)`, e.Error())
	require.Equal(t, "stdio: s: spawn: broken (after 0s)", (&Error{Server: "s", Phase: PhaseSpawn, Err: errors.New("procgroup: broken")}).Error())
	require.Equal(t, "stdio: s: spawn:  (after 0s)", (&Error{Server: "s", Phase: PhaseSpawn}).Error())
	require.Equal(t, errExited, errors.Unwrap(e))
}

func TestErrorAsJSON(t *testing.T) {
	failed := exec.Command(os.Args[0], "-test.run=[") // a pattern that is refused
	require.Error(t, failed.Run())
	e := &Error{
		Server: "weather", Phase: PhaseRunning, Exit: failed.ProcessState, Elapsed: 1500 * time.Millisecond,
		Stderr: strings.Repeat("debug\n", 30) + "last\n", Noise: "Hello", Err: os.ErrInvalid,
	}
	fields := func(e *Error) (m map[string]any) {
		t.Helper()
		data, err := json.Marshal(e)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &m))
		return m
	}
	require.Equal(t, map[string]any{
		"server": "weather", "phase": "running", "error": e.Error(), "exit": failed.ProcessState.String(),
		"noise": "Hello", "stderr": strings.Repeat("debug | ", 19) + "last", "elapsedMs": 1500.0,
	}, fields(e))
	require.Equal(t, map[string]any{
		"server": "s", "phase": "resolve", "error": "stdio: s: resolve: invalid argument (after 0s)", "elapsedMs": 0.0,
	}, fields(&Error{Server: "s", Phase: PhaseResolve, Err: os.ErrInvalid}))

	e.Stderr = strings.Repeat("x", tailSize)
	require.Len(t, fields(e)["stderr"], 4<<10)
	e.Stderr, e.Noise = strings.Repeat(nasty, 100), nasty
	require.NotEmpty(t, fields(e), "and is valid with bytes that are no UTF-8")
}
