package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Session is an mcp.ClientSession whose Close is bounded.
type Session struct {
	*mcp.ClientSession
	conn *conn
}

// Connect connects client to the server of t, as client.Connect does, and returns
// when the handshake is done. It has three advantages over the latter: the error
// is always a [*Error] with the true cause; whatever goes wrong, a panic in the
// client's middleware included, the process tree is gone when it returns; and the
// Session's Close is bounded.
//
// ctx bounds the handshake only.
func Connect(ctx context.Context, client *mcp.Client, t *Transport, opts *mcp.ClientSessionOptions) (*Session, error) {
	if client == nil || t == nil {
		return nil, &Error{Server: "server", Phase: PhaseResolve, Err: fmt.Errorf("nil client or transport: %w", os.ErrInvalid)}
	}
	connected := false
	defer func() {
		if !connected { // an error, or a panic on its way up
			t.Stop(context.Background())
		}
	}()
	session, err := client.Connect(ctx, t, opts)
	if err != nil {
		return nil, t.handshakeError(err)
	}
	connected = true
	return &Session{ClientSession: session, conn: t.conn}, nil
}

// handshakeError prefers what the transport knows to what the client was told.
func (t *Transport) handshakeError(err error) error {
	var known *Error
	t.mu.Lock()
	c := t.conn
	t.mu.Unlock()
	if c == nil {
		if errors.As(err, &known) {
			return known
		}
		return t.failure(time.Now(), err)
	}
	e := c.newError(err) // before the server is stopped, and says more on stderr
	c.shutdown()
	<-c.ended
	if c.cause.Err != ErrClosed && c.cause.Err != ErrKilled {
		return c.cause // it ended by itself, or by a reason of ours
	}
	e.Phase = PhaseHandshake
	e.Exit = c.cause.Exit
	return e
}

// Close ends the session and the server, and returns when its tree is verified
// gone: after two TerminateDurations and the time of the kill at most, whatever
// calls are in flight. A call whose reply does not arrive before the server has
// ended fails with an error that wraps [ErrOutcomeUnknown].
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
	case <-time.After(s.conn.rung):
	}
	return s.conn.closeErr
}
