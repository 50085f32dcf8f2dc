package stdio

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// readLines returns the lines that are not empty. It keeps what it owns until the
// end without a copy.
func readLines(r io.Reader, most int) (all []string, err error) {
	l := newLines(r, most)
	var kept [][]byte
	for err == nil {
		var line []byte
		var owned bool
		line, owned, err = l.next()
		if !owned {
			line = bytes.Clone(line)
		}
		if len(line) > 0 {
			kept = append(kept, line)
		}
	}
	for _, line := range kept {
		all = append(all, string(line))
	}
	return all, err
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
		require.Equal(t, wantLines(string(in)), all)
		require.ErrorIs(t, err, io.EOF)
	})
}

// wantLines is what the lines of in should be.
func wantLines(in string) (want []string) {
	for line := range strings.SplitSeq(in, "\n") {
		if line = strings.TrimSuffix(line, "\r"); line != "" {
			want = append(want, line)
		}
	}
	return want
}

// Lines of every length around those of the buffers, cut into every kind of piece,
// come out as they went in.
func TestLinesOfAllLengths(t *testing.T) {
	lengths := []int{0, 1, 2, 100, smallBuffer - 2, smallBuffer - 1, smallBuffer, smallBuffer + 1, smallBuffer + 2,
		2*smallBuffer - 1, 2 * smallBuffer, 2*smallBuffer + 1, 100_000, 300_000}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		end := func() string { return []string{"\n", "\r\n"}[random.IntN(2)] }
		var in strings.Builder
		longest := 0
		for range 8 {
			n := lengths[random.IntN(len(lengths))]
			longest = max(longest, n)
			in.WriteString(strings.Repeat(string(rune('a'+random.IntN(26))), n) + end())
		}
		s := strings.TrimSuffix(in.String(), end())
		most := []int{-1, longest}[random.IntN(2)]
		for name, r := range map[string]io.Reader{
			"whole":  strings.NewReader(s),
			"halves": iotest.HalfReader(strings.NewReader(s)),
			"pieces": &pieces{rand.New(rand.NewPCG(seed, 1)), strings.NewReader(s)},
			"at end": iotest.DataErrReader(strings.NewReader(s)),
		} {
			all, err := readLines(r, most)
			require.ErrorIs(t, err, io.EOF, name)
			require.True(t, slices.Equal(wantLines(s), all), "%s, seed %d", name, seed)
		}
	}
}

// pieces reads up to as much as a pipe holds at once.
type pieces struct {
	random *rand.Rand
	r      io.Reader
}

func (p *pieces) Read(b []byte) (int, error) {
	return p.r.Read(b[:min(len(b), 1+p.random.IntN(64<<10))])
}

// spy reads as from a pipe, and notes the largest buffer that was read into.
type spy struct {
	l    *lines
	r    io.Reader
	peak int
}

func spyOn(l *lines, r io.Reader) *spy {
	s := &spy{l: l, r: r}
	l.r = s
	return s
}

func (s *spy) Read(b []byte) (int, error) {
	s.peak = max(s.peak, len(s.l.buf))
	return s.r.Read(b[:min(len(b), 64<<10)])
}

// A long line is given away with its buffer, and nothing is left of it: neither in
// memory, nor for the next one to pay.
func TestLongLines(t *testing.T) {
	huge, long := strings.Repeat("x", 10<<20), strings.Repeat("y", 100<<10)
	steps := []struct {
		want  string
		owned bool
		peak  int
	}{
		{huge, true, 2 * len(huge)},
		{long, true, 2 * len(long)}, // one huge line is no reason to expect another
		{huge, true, 2 * len(huge)},
		{huge, true, 2 * len(huge)},
		{huge, true, len(huge) * 9 / 8},  // but two are
		{long, false, len(huge) * 9 / 8}, // mistaken: nobody should keep this buffer
		{long, true, 2 * len(long)},
		{huge, true, 2 * len(huge)},
		{huge, true, 2 * len(huge)},
		{long, false, len(huge) * 9 / 8},
		{"short", false, smallBuffer}, // what was mistaken does not stay
	}
	var one []io.Reader
	var all strings.Builder
	for _, c := range steps {
		one = append(one, strings.NewReader(c.want+"\n"))
		all.WriteString(c.want + "\n")
	}
	for name, stream := range map[string]io.Reader{"line by line": io.MultiReader(one...), "ahead": strings.NewReader(all.String())} {
		t.Run(name, func(t *testing.T) {
			l := newLines(nil, -1)
			in := spyOn(&l, stream)
			for i, c := range steps {
				in.peak = 0
				line, owned, err := l.next()
				require.NoError(t, err)
				require.True(t, c.want == string(line), "%d: %d bytes", i, len(line))
				require.Equal(t, c.owned, owned, i)
				require.LessOrEqual(t, in.peak, c.peak, i)
				if owned {
					require.LessOrEqual(t, len(l.buf), max(smallBuffer, l.end), "%d: no more is held than is still to be returned", i)
				}
			}
			_, _, err := l.next()
			require.ErrorIs(t, err, io.EOF)
			require.Len(t, l.buf, smallBuffer, "an idle connection")
		})
	}
}

// However long a line without an end becomes, its buffer stays within the limit,
// and without a limit within twice the line.
func TestBufferOfAnEndlessLine(t *testing.T) {
	const limit = 5_000_000
	l := newLines(nil, limit)
	in := spyOn(&l, &counter{})
	_, _, err := l.next()
	require.ErrorIs(t, err, ErrLineTooLong)
	require.LessOrEqual(t, in.peak, limit+len("\r\n"))

	l = newLines(nil, -1)
	endless := &counter{}
	in = spyOn(&l, io.LimitReader(endless, 9<<20))
	_, _, err = l.next()
	require.ErrorIs(t, err, io.EOF)
	require.LessOrEqual(t, in.peak, 2*endless.n)
}

// The limit may be any number.
func TestLimitOfLines(t *testing.T) {
	for _, most := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 2, math.MinInt, -1} {
		all, err := readLines(strings.NewReader("a\r\nb"), most)
		require.ErrorIs(t, err, io.EOF, most)
		require.Equal(t, []string{"a", "b"}, all, most)
	}
	for at := range 3 * smallBuffer / 1000 {
		most := at * 1000
		line := strings.Repeat("x", most)
		for end, fits := range map[string]bool{"\n": true, "\r\n": true, "": true, "\r": true, "x\n": false, "x\r\n": false, "x": false, "xx": false} {
			all, err := readLines(strings.NewReader(line+end), most)
			if fits {
				require.ErrorIs(t, err, io.EOF, "%d %q", most, end)
				require.Equal(t, wantLines(line), all)
			} else {
				require.ErrorIs(t, err, ErrLineTooLong, "%d %q", most, end)
				require.Empty(t, all)
			}
		}
	}
}
