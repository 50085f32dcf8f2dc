package stdio

import (
	"bytes"
	"io"
	"math"
)

const (
	// smallBuffer is what an idle connection holds. A line that does not fit is
	// read into a buffer of its own, which the message may keep.
	smallBuffer = 32 << 10

	// guessBound bounds the buffer that is made for a long line on no other ground
	// than that the last ones were as long.
	guessBound = 16 << 20
)

// lines cuts a stream at its newlines.
//
// A long line is copied as little as can be: it is read from the pipe into the
// place where the message stays. That place is made when the line turns out to be
// long and given away with it, so that a huge message is not paid for ever after.
type lines struct {
	r     io.Reader
	max   int    // of a line without its line end
	small []byte // never given away
	buf   []byte // small, or the buffer of a long line

	start, end int    // buf[start:end] was read and not yet returned
	seen       int    // buf[start:seen] has no newline
	longs      [2]int // lengths of the last lines that did not fit into small
	err        error
}

// newLines returns the lines of r of up to most bytes each; negative means no
// limit.
func newLines(r io.Reader, most int) lines {
	if most < 0 {
		most = math.MaxInt - len("\r\n")
	}
	small := make([]byte, smallBuffer)
	return lines{r: r, max: min(most, math.MaxInt-len("\r\n")), small: small, buf: small}
}

// next returns the next line without its line end. It belongs to the caller if
// owned, and else is valid until the next call. The last line of a stream may lack
// its newline; it comes with the error.
func (l *lines) next() (line []byte, owned bool, err error) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:l.end], '\n'); i >= 0 {
			return l.cut(l.seen + i)
		}
		l.seen = l.end
		if l.end-l.start >= l.max+len("\r\n") {
			return nil, false, ErrLineTooLong
		}
		if l.err != nil {
			line, err = l.trim(l.buf[l.start:l.end])
			l.start = l.end
			if err == nil {
				err = l.err
			}
			return line, false, err
		}
		l.makeRoom()
		var n int
		n, l.err = l.r.Read(l.buf[l.end:])
		l.end += n
	}
}

// cut returns the line that ends before buf[i].
func (l *lines) cut(i int) (line []byte, owned bool, err error) {
	line, err = l.trim(l.buf[l.start:i])
	if i-l.start >= smallBuffer {
		if pipe, ok := l.r.(interface{ widen() }); ok && l.longs[1] == 0 {
			pipe.widen() // on the first long line, and never for a server without
		}
		l.longs = [2]int{l.longs[1], i - l.start}
		// A buffer that is mostly empty would be a high price for the message.
		owned = len(line) >= len(l.buf)/2
	}
	l.start = i + 1
	l.seen = l.start
	if owned {
		l.moveTo(l.roomFor(l.end - l.start))
	}
	return line, owned, err
}

func (l *lines) trim(line []byte) ([]byte, error) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > l.max {
		return nil, ErrLineTooLong
	}
	return line[:len(line):len(line)], nil
}

// makeRoom sees to it that there is something to read into. A long line gets a
// buffer of its own, and a longer one when that is full.
func (l *lines) makeRoom() {
	n := l.end - l.start
	switch {
	case n < smallBuffer:
		l.moveTo(l.small)
	case l.start > 0 || l.end == len(l.buf):
		// The shorter of two, or one huge message would be paid for by the next.
		guess := min(l.longs[0], l.longs[1])
		size := max(2*n, min(guess+guess/16, guessBound))
		l.moveTo(make([]byte, min(size, l.max+len("\r\n"))))
	}
}

// roomFor returns small, or a buffer that n bytes fit into.
func (l *lines) roomFor(n int) []byte {
	if n <= smallBuffer {
		return l.small
	}
	return make([]byte, n)
}

// moveTo goes on in buf with what was read.
func (l *lines) moveTo(buf []byte) {
	l.seen -= l.start
	l.end = copy(buf, l.buf[l.start:l.end])
	l.start, l.buf = 0, buf
}
