package stdio

import (
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

// readAll turns the stdout of ch into messages until it ends.
func (c *conn) readAll(ch *child) {
	for {
		line, owned, err := ch.lines.next()
		c.receive(ch, line, owned)
		if err != nil {
			ch.lines = lines{} // its buffer may be as large as a line
			c.stdoutEnded(ch, err)
			return
		}
	}
}

var bom = []byte("\ufeff")

// receive delivers what is in a line. If that is owned, messages may keep it.
func (c *conn) receive(ch *child, line []byte, owned bool) {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, bom))
	if len(line) == 0 || c.deliverBatch(ch, line) {
		return
	}
	c.receiveOne(ch, line, owned)
}

// receiveOne delivers a message, or sees to what is none.
func (c *conn) receiveOne(ch *child, line []byte, owned bool) {
	if line[0] != '{' {
		c.noisy(ch, line)
	} else if msg, err := decode(line, owned); err == nil {
		c.accept(ch, msg)
	} else {
		c.noisy(ch, line)
		c.garbled(line)
	}
}

// accept delivers a message of the server's.
func (c *conn) accept(ch *child, msg jsonrpc.Message) {
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

// isUnheard reports whether nobody takes messages any more.
func (c *conn) isUnheard() bool {
	select {
	case <-c.abandoned:
		return true
	case <-c.overdue.Done():
		return true
	default:
		return false
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
