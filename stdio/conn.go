package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// conn is one running server and the connection to it. It implements
// mcp.Connection.
//
// The SDK calls Close while it holds the lock that its own Read loop and every
// call need, so nothing here waits for the SDK to do something: what Read does
// not take is dropped once Close was called.
type conn struct {
	name     string
	cmd      *exec.Cmd
	begin    time.Time
	rung     time.Duration // how long a rung of the ladder may take
	termRung time.Duration // and that of SIGTERM
	patience time.Duration // for the handshake
	proc     process
	pipes    pipes

	writer    *writer
	stdout    *outlet
	lines     lines                // cuts stdout
	incoming  chan jsonrpc.Message // from readAll to Read, unbuffered
	handshake handshake
	pending   pending
	noise     noise

	stderr *outlet
	tail   tail
	copied copiers // to the caller's writers

	abandoned   chan struct{} // closed: nobody calls Read any more
	abandonOnce sync.Once
	stopping    chan struct{} // closed: the ladder has begun
	stopped     atomic.Bool   // by Transport.Stop, and not by the SDK or for a fault
	stopOnce    sync.Once
	hurried     context.Context // done: skip to the kill
	hurry       context.CancelFunc
	overdue     context.Context // done: what is still in the pipes is dropped
	giveUp      context.CancelFunc
	crashed     atomic.Bool // the server ended before anybody asked it to
	killed      atomic.Bool // the ladder came to its last rung

	reasonMu sync.Mutex
	reason   error // why we ended the server, if it was we

	ended    chan struct{} // closed last; the two below are set before
	cause    *Error        // why the connection ended: never nil
	closeErr error         // what Close returns
}

func newConn(t *Transport, p pipes, begin time.Time) *conn {
	c := &conn{
		name:      t.name(),
		cmd:       t.Command,
		begin:     begin,
		rung:      t.TerminateDuration,
		termRung:  t.termRung,
		patience:  t.HandshakeTimeout,
		pipes:     p,
		writer:    newWriter(p.stdin),
		incoming:  make(chan jsonrpc.Message),
		abandoned: make(chan struct{}),
		stopping:  make(chan struct{}),
		ended:     make(chan struct{}),
	}
	if c.rung == 0 {
		c.rung = defaultTerminate
	}
	if c.termRung == 0 {
		c.termRung = c.rung
	}
	if c.patience == 0 {
		c.patience = defaultHandshake
	}
	maxLine := t.MaxLineLength
	if maxLine == 0 {
		maxLine = defaultMaxLine
	}
	c.stdout, c.stderr = &outlet{f: p.stdout}, &outlet{f: p.stderr}
	c.lines = newLines(c.stdout, maxLine)
	c.hurried, c.hurry = context.WithCancel(context.Background())
	c.overdue, c.giveUp = context.WithCancel(context.Background())
	return c
}

// run starts the goroutines of a connection whose process was started.
func (c *conn) run(ctx context.Context) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		var stderr sync.WaitGroup
		stderr.Go(c.drainStderr)
		c.readAll()
		stderr.Wait()
	}()
	c.handshake.arm(ctx, c.patience, c.fail)
	go c.watch(drained)
}

// blame notes why we end the server. The first reason is the cause, all later
// ones are its consequences.
func (c *conn) blame(reason error) {
	c.reasonMu.Lock()
	defer c.reasonMu.Unlock()
	if c.reason == nil {
		c.reason = reason
	}
}

func (c *conn) blamed() error {
	c.reasonMu.Lock()
	defer c.reasonMu.Unlock()
	return c.reason
}

// watch ends the connection when the tree is gone.
func (c *conn) watch(drained <-chan struct{}) {
	<-c.proc.Exited()
	c.crashed.Store(!c.isStopping()) // whoever stops it from here on comes too late
	<-c.proc.Done()
	c.handshake.disarm()
	waitErr := c.proc.Wait()

	// All that belonged to the tree has let go of the pipes. Who still holds
	// them is beyond our reach and must not keep us waiting, and neither must a
	// client that does not read.
	c.writer.close()
	c.stdout.finish()
	c.stderr.finish()
	overdue := time.NewTimer(drainBound)
	defer overdue.Stop()
	select {
	case <-drained:
	case <-overdue.C:
	}
	c.giveUp()
	c.pipes.closeOurs()
	c.copied.wait(overdue.C, c.hurried)

	c.cause = c.explain(waitErr)
	c.closeErr = c.verdict(c.cause)
	c.hurry()
	close(c.ended)
}

func (c *conn) isStopping() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return false
	}
}

// SessionID is empty: stdio has no such thing.
func (c *conn) SessionID() string { return "" }

// Read returns the next message. When the server has ended, every call that is
// still pending is answered with the cause first; then the cause itself, or
// io.EOF after a clean end, is returned for ever.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.incoming:
		c.note(msg)
		return msg, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ended:
	}
	if id, ok := c.pending.pop(); ok {
		return &jsonrpc.Response{ID: id, Error: newCallError(c.orphaned())}, nil
	}
	if c.closeErr == nil && c.cause.Err == ErrClosed {
		return nil, io.EOF
	}
	return nil, c.cause
}

// note learns from a message that Read hands to the SDK.
func (c *conn) note(msg jsonrpc.Message) {
	if r, ok := msg.(*jsonrpc.Response); ok {
		c.pending.answered(r.ID)
		c.handshake.answered(r)
	}
}

// Write sends a message. It gives up when ctx ends: a frame of which nothing was
// sent is dropped; one that was sent in part is finished in the background,
// so that the stream stays whole. After the end of the server it returns the
// cause, and after Close an error that wraps [ErrClosed].
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if msg == nil {
		return c.newError(errNilMessage)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	frame, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return c.newError(err)
	}
	request, _ := msg.(*jsonrpc.Request)
	if request != nil {
		// Before the bytes go out: the answer may be there before we are back.
		c.pending.sent(request)
		c.handshake.sent(request)
	}
	if err := c.writer.write(ctx, append(frame, '\n')); err != nil {
		if request != nil && !errors.Is(err, errPartial) {
			c.pending.answered(request.ID)
		}
		return c.writeError(ctx, err)
	}
	if request != nil {
		return c.handshake.written(request)
	}
	return nil
}

var errNilMessage = fmt.Errorf("nil message: %w", os.ErrInvalid)

// writeError prefers the reason of the end to the broken pipe that it caused.
// The server that broke the pipe is about to be noticed: that is waited for as
// long as the caller likes, and a moment at most.
func (c *conn) writeError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.isStopping() && c.blamed() == nil {
		return c.newError(ErrClosed)
	}
	select {
	case <-c.ended:
		return c.cause
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settleBound):
		return c.newError(err)
	}
}

// Close ends the server by the ladder of [Transport.Stop] and returns when its
// tree is verified gone. It is nil when the server ended at end of file or
// SIGTERM, whatever its exit status; otherwise it is the [*Error] that says why
// the server ended before, or that it had to be killed. It may be called any
// number of times.
func (c *conn) Close() error {
	c.abandonOnce.Do(func() { close(c.abandoned) })
	c.shutdown()
	<-c.ended
	return c.closeErr
}
