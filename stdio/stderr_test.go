//go:build unix

package stdio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// wails is what the server "wailer" writes on stderr.
func wails(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "all is lost %07d\n", i+1)
	}
	return b.String()
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// 400 KB on stderr before the first answer hold nobody up, both writers get all of
// it, and its end is kept.
func TestStderrIsDrained(t *testing.T) {
	const lines = 20_000
	want := wails(lines)
	transport, w := zoo(t, servers.Command("wailer", fmt.Sprint(lines)), atEOF)
	var ours, theirs bytes.Buffer
	slow := sync.OnceFunc(func() { time.Sleep(300 * time.Millisecond) })
	transport.Stderr, transport.Command.Stderr = writerFunc(func(p []byte) (int, error) {
		slow() // and is waited for all the same
		return ours.Write(p)
	}), &theirs
	session := connect(t, transport)
	require.NoError(t, call(session))
	require.NoError(t, syscall.Kill(w.Await(t, "wailer")[0].PID, syscall.SIGKILL))
	require.Error(t, session.Wait())

	require.True(t, want == ours.String(), "Transport.Stderr: %d bytes of %d", ours.Len(), len(want))
	require.True(t, want == theirs.String(), "Command.Stderr: %d bytes of %d", theirs.Len(), len(want))
	var typed *stdio.Error
	require.ErrorAs(t, session.Close(), &typed)
	require.True(t, want[len(want)-64<<10:] == typed.Stderr, "the tail: %d bytes, %.40q...", len(typed.Stderr), typed.Stderr)
	require.Contains(t, typed.Error(), `stderr: "all is lost 0019998 | all is lost 0019999 | all is lost 0020000"`)
}

// A writer that blocks holds up neither the server, though that writes more than
// is held for it, nor Close.
func TestStderrToAWriterThatBlocks(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	transport, w := zoo(t, servers.Command("wailer", "150000"), atEOF)
	var calls atomic.Int32
	transport.Stderr = writerFunc(func(p []byte) (int, error) {
		calls.Add(1)
		<-release
		return len(p), nil
	})
	session := connect(t, transport)
	require.NoError(t, call(session))
	require.NoError(t, bounded(t, "Close", session.Close))
	w.Gone(t)
	require.EqualValues(t, 1, calls.Load())
}

// A writer that fails is not called again, and the other one is.
func TestStderrToAWriterThatFails(t *testing.T) {
	const lines = 20_000
	failing := func(calls *atomic.Int32) io.Writer {
		return writerFunc(func([]byte) (int, error) {
			calls.Add(1)
			return 0, errors.New("disk full")
		})
	}
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("Transport.Stderr/%v", first), func(t *testing.T) {
			t.Parallel()
			transport, _ := zoo(t, servers.Command("wailer", fmt.Sprint(lines)), atEOF)
			var calls atomic.Int32
			var other bytes.Buffer
			transport.Stderr, transport.Command.Stderr = failing(&calls), &other
			if !first {
				transport.Stderr, transport.Command.Stderr = &other, failing(&calls)
			}
			session := connect(t, transport)
			require.NoError(t, call(session))
			require.NoError(t, session.Close())
			require.EqualValues(t, 1, calls.Load())
			require.True(t, wails(lines) == other.String(), "%d bytes", other.Len())
		})
	}
}

// A writer that panics, or ends its goroutine, fails its own server; the host and
// the other server go on.
func TestStderrToAWriterThatPanics(t *testing.T) {
	for name, c := range map[string]struct {
		write writerFunc
		says  string
	}{
		"panic":  {func([]byte) (int, error) { panic("boom") }, "writer for stderr panicked: boom"},
		"Goexit": {func([]byte) (int, error) { runtime.Goexit(); return 0, nil }, "writer for stderr did not return"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			neighbour, _ := zoo(t, servers.Command("ordinary"), atEOF)
			other := connect(t, neighbour)
			transport, w := zoo(t, servers.Command("hanger"), atEOF) // speaks when it is called
			transport.Stderr = c.write
			session := connect(t, transport)
			err := bounded(t, "the call", func() error { return call(session) })
			w.Gone(t)
			require.ErrorContains(t, err, c.says)
			require.ErrorIs(t, err, stdio.ErrOutcomeUnknown)
			require.ErrorContains(t, session.Close(), c.says)
			require.NoError(t, call(other))
			require.NoError(t, other.Close())
		})
	}
}

// The tail is the end of what was written, 64 KiB at most, wherever its lines fall.
func TestStderrTail(t *testing.T) {
	for _, lines := range []int{0, 1, 3276, 3277, 10_000} { // 3276.8 lines are 64 KiB
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("wailer", fmt.Sprint(lines)), atEOF)
			session := connect(t, transport)
			require.NoError(t, syscall.Kill(w.Await(t, "wailer")[0].PID, syscall.SIGKILL))
			require.Error(t, session.Wait())
			var typed *stdio.Error
			require.ErrorAs(t, transport.Err(), &typed)
			want := wails(lines)
			want = want[max(0, len(want)-64<<10):]
			require.True(t, typed.Stderr == want, "%d bytes, want %d", len(typed.Stderr), len(want))
		})
	}
}
