package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdioguard/stdioguard/procgroup"
)

// Session is an mcp.ClientSession whose Close is bounded.
type Session struct {
	*mcp.ClientSession
	conn *conn
}

// Connect connects client to the server of t, as client.Connect does, and returns
// when the handshake is done. It has three advantages over the latter: the error
// is always a [*Error] with the true cause; whatever goes wrong, a panic in the
// client's middleware included, the process tree is gone when it ends; and the
// Session's Close is bounded.
//
// ctx bounds the handshake only, beside HandshakeTimeout; opts may be nil. A panic
// goes on after the tree is gone.
func Connect(ctx context.Context, client *mcp.Client, t *Transport, opts *mcp.ClientSessionOptions) (*Session, error) {
	if client == nil || t == nil {
		return nil, &Error{Server: "server", Phase: PhaseResolve, Err: fmt.Errorf("nil client or transport: %w", os.ErrInvalid)}
	}
	d := &dialed{Transport: t}
	connected := false
	defer func() {
		if !connected && d.conn != nil { // an error, or a panic on its way up
			d.conn.Close()
		}
	}()
	session, err := client.Connect(ctx, d, opts)
	if err != nil {
		return nil, d.explain(err)
	}
	connected = true
	return &Session{ClientSession: session, conn: d.conn}, nil
}

// dialed is the transport of one Connect: it knows which connection, if any, that
// call has made and must clean up.
type dialed struct {
	*Transport
	conn *conn
}

func (d *dialed) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	d.conn = c
	return c, nil
}

// explain prefers what the transport knows to what the client was told.
func (d *dialed) explain(err error) error {
	c := d.conn
	var known *Error
	switch {
	case c == nil && errors.As(err, &known):
		return known
	case c == nil:
		return d.failure(time.Now(), err)
	case errors.As(err, &known): // the answer to a request of the handshake
		err = known.Err
	}
	stopped := c.stopped.Load() // by the caller, in the middle of the handshake
	e := c.newError(err)        // while it runs: what stderr says of being stopped is not the cause
	c.Close()
	if stopped || c.cause.Phase != PhaseStopping {
		return c.cause // it ended by itself, or by a reason of ours
	}
	e.Phase = PhaseHandshake
	e.Exit = c.cause.Exit
	var survivors *procgroup.SurvivorsError
	if errors.As(c.cause, &survivors) { // what the server said comes first
		e.Err = fmt.Errorf("%w; %w", err, survivors)
	}
	return e
}

// Close ends the session and the server, and returns when its tree is verified
// gone, whatever calls are in flight: after two TerminateDurations at most, the time
// of the kill (5 s where somebody survives it), 2 s for an OnNoise that blocks, 2 s for
// a writer of stderr or a logger that does, and 2 s for a handler of the client's that
// does not return. A call whose reply does not arrive before the server has ended
// fails with an error that wraps [ErrOutcomeUnknown].
//
// It is nil when the server ended at end of file or SIGTERM, whatever its exit
// status; otherwise it is the [*Error] that says why the server ended before, or
// that it had to be killed. It may be called any number of times, at once.
func (s *Session) Close() error {
	s.conn.shutdown()
	<-s.conn.ended

	// With the connection ended, all that the client still waits for is its own
	// handlers. One that does not heed its context is not waited for long.
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.ClientSession.Close()
	}()
	select {
	case <-closed:
	case <-time.After(settleBound):
	}
	return s.conn.closeErr
}
