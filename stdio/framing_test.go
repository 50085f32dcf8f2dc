package stdio

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readLines(r io.Reader, most int) (all []string, err error) {
	l := newLines(r, most)
	for {
		line, err := l.next()
		if len(line) > 0 {
			all = append(all, string(line))
		}
		if err != nil {
			return all, err
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 100_000) // longer than the buffer
	for name, c := range map[string]struct {
		in   string
		most int
		want []string
		err  error
	}{
		"empty":               {"", 10, nil, io.EOF},
		"lines":               {"a\nb\n", 10, []string{"a", "b"}, io.EOF},
		"CRLF and blanks":     {"a\r\n\r\n\nb\r\n", 10, []string{"a", "b"}, io.EOF},
		"no last newline":     {"a\nb", 10, []string{"a", "b"}, io.EOF},
		"at the limit":        {"1234567890\n", 10, []string{"1234567890"}, io.EOF},
		"at the limit, CRLF":  {"1234567890\r\n", 10, []string{"1234567890"}, io.EOF},
		"over the limit":      {"ok\n12345678901\nafter\n", 10, []string{"ok"}, ErrLineTooLong},
		"over, without end":   {"12345678901", 10, nil, ErrLineTooLong},
		"long":                {long + "\nb\n", len(long), []string{long, "b"}, io.EOF},
		"long, over":          {long + "\n", len(long) - 1, nil, ErrLineTooLong},
		"long, no limit":      {long + "\n", -1, []string{long}, io.EOF},
		"long, CRLF at limit": {long + "\r\n", len(long), []string{long}, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := readLines(strings.NewReader(c.in), c.most)
			require.Equal(t, c.want, all)
			require.ErrorIs(t, err, c.err)
		})
	}
}

// A line without an end must not be kept: what is read is bounded by the limit.
func TestEndlessLineIsBounded(t *testing.T) {
	endless := &counter{}
	_, err := readLines(endless, 1<<20)
	require.ErrorIs(t, err, ErrLineTooLong)
	require.LessOrEqual(t, endless.n, 1<<20+1<<16)
}

type counter struct{ n int }

func (c *counter) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'A'
	}
	c.n += len(p)
	return len(p), nil
}

// Cutting into lines loses and invents nothing.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\n\nb"), 3)
	f.Add([]byte(strings.Repeat("{}\n", 5)), -1)
	f.Fuzz(func(t *testing.T, in []byte, most int) {
		all, err := readLines(strings.NewReader(string(in)), most)
		if errors.Is(err, ErrLineTooLong) {
			if most < 0 || len(in) <= most {
				t.Fatalf("%d bytes are too long for %d", len(in), most)
			}
			return
		}
		var want []string
		for line := range strings.SplitSeq(string(in), "\n") {
			if line = strings.TrimSuffix(line, "\r"); line != "" {
				want = append(want, line)
			}
		}
		require.Equal(t, want, all)
		require.ErrorIs(t, err, io.EOF)
	})
}

// What a dead server wrote is read to its end even where a stranger holds the
// pipe, and the stranger's silence ends it.
func TestOutletDrainsAPipeThatStaysOpen(t *testing.T) {
	r, w, err := os.Pipe()
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

func TestOutletIsBoundedAgainstAStrangerWhoWrites(t *testing.T) {
	r, w, err := os.Pipe()
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
