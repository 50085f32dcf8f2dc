package stdio

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
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
	transport *Transport
	begin     time.Time
	rung      time.Duration // how long a rung of the ladder may take
	termRung  time.Duration // and that of SIGTERM
	patience  time.Duration // for the handshake
	stall     time.Duration // for a server that does not read
	maxLine   int
	spare     *exec.Cmd // to start the server once more

	current  atomic.Pointer[child]
	starting sync.Mutex // held while another child becomes the current one

	incoming  chan jsonrpc.Message // from readAll to Read, unbuffered
	handshake handshake
	probe     probe
	pending   pending
	batches   batches
	copied    copiers // of stderr, to the caller's writers
	events    *events // to the caller's logger

	abandoned   chan struct{} // closed: nobody calls Read any more
	abandonOnce sync.Once
	stopping    chan struct{} // closed: the ladder has begun
	stopped     atomic.Bool   // by Transport.Stop, and not by the SDK or for a fault
	stopOnce    sync.Once
	hurried     context.Context // done: skip to the kill
	hurry       context.CancelFunc
	overdue     context.Context // done: what is still in the pipes is dropped
	giveUp      context.CancelFunc
	killed      atomic.Bool // the ladder came to its last rung

	reasonMu sync.Mutex
	reason   error // why we ended the server, if it was we

	ended    chan struct{} // closed last; what is below is set before
	endedAt  time.Time
	cause    *Error // why the connection ended: never nil
	closeErr error  // what Close returns
}

func newConn(t *Transport, begin time.Time) *conn {
	spare := *t.Command // an exec.Cmd can be started once
	c := &conn{
		transport: t,
		begin:     begin,
		rung:      cmp.Or(t.TerminateDuration, defaultTerminate),
		patience:  cmp.Or(t.HandshakeTimeout, defaultHandshake),
		stall:     cmp.Or(t.stall, defaultStall),
		maxLine:   cmp.Or(t.MaxLineLength, defaultMaxLine),
		spare:     &spare,
		incoming:  make(chan jsonrpc.Message),
		abandoned: make(chan struct{}),
		stopping:  make(chan struct{}),
		ended:     make(chan struct{}),
	}
	c.termRung = cmp.Or(t.termRung, c.rung)
	c.hurried, c.hurry = context.WithCancel(context.Background())
	c.overdue, c.giveUp = context.WithCancel(context.Background())
	return c
}

// open starts the server and the goroutines of the connection.
func (c *conn) open(ctx context.Context) error {
	c.events = newEvents(c.transport, c.begin, c.fail)
	for _, w := range []io.Writer{c.transport.Stderr, c.transport.Command.Stderr} {
		if w != nil {
			c.copied = append(c.copied, newCopier(w, c.fail))
		}
	}
	ch, err := c.launch(c.transport.Command)
	if err != nil {
		c.copied.close()
		c.events.close()
		return err
	}
	c.adopt(ch)
	c.probe.timeout = cmp.Or(c.transport.probeTimeout, probeTimeout(ctx, c.patience))
	c.handshake.arm(ctx, c.patience-time.Since(c.begin), c.fail)
	go c.watch(ch)
	return nil
}

// start starts a process tree.
func (c *conn) start(ctx context.Context, cmd *exec.Cmd) (process, error) {
	if start := c.transport.start; start != nil {
		return start(ctx, cmd)
	}
	config := c.transport.Group
	config.Grace = math.MaxInt64 // the ladder ends its rungs itself
	return config.Start(ctx, cmd)
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
// io.EOF after a clean end, is returned for ever, after Close as well. It ends
// with ctx, too. One goroutine at a time may call it.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.incoming:
		c.note(msg)
		return msg, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ended:
	}
	if c.handshake.wasCancelled() {
		// The context of Connect has ended. A client is about to notice that itself,
		// and then has the context's own error to tell, where it makes a mere text
		// of ours.
		select {
		case <-c.abandoned:
		case <-ctx.Done():
		case <-time.After(time.Until(c.endedAt.Add(settleBound))):
		}
	}
	if id, ok := c.pending.pop(); ok {
		return &jsonrpc.Response{ID: id, Error: newCallError(c.orphaned())}, nil
	}
	if c.closeErr == nil && c.cause.Err == ErrClosed {
		return nil, io.EOF
	}
	return nil, c.cause
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// note learns from a message that Read hands to the SDK.
func (c *conn) note(msg jsonrpc.Message) {
	if r, ok := msg.(*jsonrpc.Response); ok {
		c.pending.answered(r.ID)
		if c.handshake.answered(r) {
			c.events.ready()
		}
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

// await waits for done for as long as a context lasts, and, once somebody is in a
// hurry, for a moment only.
func await(done <-chan struct{}, overdue, hurried context.Context) {
	select {
	case <-done:
		return
	case <-overdue.Done():
		return
	case <-hurried.Done():
	}
	select {
	case <-done:
	case <-overdue.Done():
	case <-time.After(drainQuiet):
	}
}
