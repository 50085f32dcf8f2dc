package stdio

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pipeSize is asked of the other end, whose deadlines nobody needs.
func pipeSize(t *testing.T, f *os.File) int {
	t.Helper()
	n, err := unix.FcntlInt(f.Fd(), unix.F_GETPIPE_SZ, 0)
	require.NoError(t, err)
	return n
}

// The first long line makes the pipe wide, and nothing else does: pipes are a
// resource that all processes of a user share. Reading can still be ended.
func TestLongLinesWidenThePipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, wideBytes); err != nil {
		t.Skipf("SKIPPED where a pipe cannot be made wide: %v", err)
	}
	_, err = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 64<<10)
	require.NoError(t, err)

	o := &outlet{f: r}
	l := newLines(o, -1)
	next := func(line string) {
		io.WriteString(w, line+"\n")
		got, _, err := l.next()
		require.NoError(t, err)
		require.Equal(t, line, string(got))
	}
	for range 100 {
		next(strings.Repeat("x", smallBuffer-1))
	}
	require.Equal(t, 64<<10, pipeSize(t, w))
	next(strings.Repeat("x", smallBuffer))
	require.Equal(t, wideBytes, pipeSize(t, w))

	go o.finish()
	_, _, err = l.next()
	require.ErrorIs(t, err, io.EOF)
}
