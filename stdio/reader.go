package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// drainQuiet and drainBytes bound the reading of a pipe whose writers are
	// gone but which somebody beyond our reach still holds open. What a dead
	// server wrote is in the pipe already, so silence means that there is no
	// more; a pipe holds at most 1 MiB (pipe(7), pipe-max-size).
	drainQuiet = 100 * time.Millisecond
	drainBytes = 1 << 20

	// drainBound is how long the client, and the writer that stderr is copied to,
	// may take to accept what was drained.
	drainBound = 2 * time.Second

	// settleBound is how long one sign of a server's end, a closed stdin or
	// stdout, waits for the others, of which the exit names the cause.
	settleBound = 2 * time.Second
)

// outlet is our end of a pipe that the server writes to.
type outlet struct {
	f         *os.File
	finishing atomic.Bool
	drained   int
}

// finish makes reading end as soon as the pipe is empty.
func (o *outlet) finish() {
	o.finishing.Store(true)
	o.f.SetReadDeadline(time.Now()) // wakes a read; it goes on in drain mode
}

func (o *outlet) Read(p []byte) (int, error) {
	for {
		draining, since := o.finishing.Load(), time.Now()
		if draining {
			if o.drained >= drainBytes {
				return 0, io.EOF
			}
			o.f.SetReadDeadline(since.Add(drainQuiet))
		}
		n, err := o.f.Read(p)
		if draining {
			o.drained += n
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		// finish may have set its deadline after ours: only real silence counts.
		if draining && time.Since(since) >= drainQuiet {
			return 0, io.EOF
		}
	}
}

// lines cuts a stream at its newlines.
type lines struct {
	r    *bufio.Reader
	max  int // of a line without its newline; negative: none
	long []byte
}

func newLines(r io.Reader, most int) lines {
	return lines{r: bufio.NewReaderSize(r, 32<<10), max: most}
}

// next returns the next line without its line end, valid until the next call. The
// last line of a stream may lack its newline; it comes with the error.
func (l *lines) next() ([]byte, error) {
	if cap(l.long) > 1<<20 {
		l.long = nil // one huge message must not be paid for ever after
	}
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return l.trim(part)
		}
		l.long = append(l.long, part...)
		if err != bufio.ErrBufferFull {
			line, tooLong := l.trim(l.long)
			if tooLong != nil {
				err = tooLong
			}
			return line, err
		}
		if l.max >= 0 && len(l.long) > l.max+len("\r\n") {
			return nil, ErrLineTooLong
		}
	}
}

func (l *lines) trim(line []byte) ([]byte, error) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if l.max >= 0 && len(line) > l.max {
		return nil, ErrLineTooLong
	}
	return line, nil
}

// readAll turns the stdout of ch into messages until it ends.
func (c *conn) readAll(ch *child) {
	for {
		line, err := ch.lines.next()
		c.receive(ch, line)
		if err != nil {
			c.stdoutEnded(ch, err)
			return
		}
	}
}

var bom = []byte("\ufeff")

// receive delivers what is in a line.
func (c *conn) receive(ch *child, line []byte) {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, bom))
	if len(line) == 0 || c.deliverBatch(ch, line) {
		return
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.noisy(ch, line)
		return
	}
	ch.noise.quiet()
	if r, ok := msg.(*jsonrpc.Response); ok && c.probe.heard(r.ID) {
		return // the client has had its answer
	}
	c.deliver(msg)
}

// deliver waits for the client to take the message: a client that does not read
// holds the server up and not our memory.
func (c *conn) deliver(msg jsonrpc.Message) {
	select {
	case c.incoming <- msg:
	case <-c.abandoned:
	case <-c.overdue.Done():
	}
}

// stdoutEnded sees to a server that cannot be heard any more.
func (c *conn) stdoutEnded(ch *child, err error) {
	if !errors.Is(err, io.EOF) {
		select {
		case <-ch.proc.Done():
		default:
			c.fail(err)
		}
		return
	}
	// The usual case is that its exit follows.
	select {
	case <-ch.proc.Done():
	case <-c.stopping:
	case <-time.After(settleBound):
		c.fail(errStdoutEnded)
	}
}
