package stdio

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a dead server wrote is read to its end even where a stranger holds the
// pipe, and the stranger's silence ends it.
func TestOutletDrainsAPipeThatStaysOpen(t *testing.T) {
	r, w, err := outletPipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	o := &outlet{f: r}
	got := make(chan string)
	go func() {
		all, err := io.ReadAll(o)
		if err != nil {
			all = []byte(err.Error())
		}
		got <- string(all)
	}()
	io.WriteString(w, "last words")
	o.finish()
	require.Equal(t, "last words", <-got)
}

func TestOutletEndsWithItsWriter(t *testing.T) {
	r, w, err := outletPipe()
	require.NoError(t, err)
	defer r.Close()
	io.WriteString(w, "last words")
	w.Close()
	all, err := io.ReadAll(&outlet{f: r})
	require.NoError(t, err)
	require.Equal(t, "last words", string(all))
}

func TestPipeWithoutAReaderIsBroken(t *testing.T) {
	p, err := newPipes()
	require.NoError(t, err)
	defer p.closeOurs()
	p.closeChild()
	_, err = p.stdin.Write([]byte("x"))
	require.True(t, isBroken(err), err)
	require.False(t, isBroken(io.EOF))
}

func TestOutletIsBoundedAgainstAStrangerWhoWrites(t *testing.T) {
	r, w, err := outletPipe()
	require.NoError(t, err)
	defer r.Close()
	go func() {
		for {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}()
	defer w.Close()
	o := &outlet{f: r}
	o.finish()
	n, err := io.Copy(io.Discard, o)
	require.NoError(t, err)
	require.LessOrEqual(t, n, int64(drainBytes+64<<10))
}
