package stdio

import (
	"context"
	"fmt"
	"time"

	"github.com/stdioguard/stdioguard/procgroup"
)

// Stop ends the server, whatever its session is doing: end of file on stdin, up to
// TerminateDuration, SIGTERM to the tree, up to TerminateDuration, SIGKILL. It
// returns when the tree is verified gone, or with an error that lists the
// survivors. Calls in flight fail with an error that wraps [ErrClosed] and
// [ErrOutcomeUnknown], unless their replies still arrive.
//
// The end of ctx, or a second Stop, skips to SIGKILL. The result is that of
// Close: nil when the server ended at end of file or SIGTERM. Before Connect it
// returns nil, and Connect then fails; during the handshake, Connect fails with
// an error that wraps ErrClosed, or ErrKilled where the server had to be. Where ctx
// ends while the server is still being started, Stop returns an error that wraps
// that of ctx, and the server is stopped as soon as it is there.
func (t *Transport) Stop(ctx context.Context) error {
	t.mu.Lock()
	begin, dialed, again := time.Now(), t.dialed, t.stopped
	t.stopped = true
	t.mu.Unlock()
	if dialed == nil {
		return nil
	}
	select {
	case <-dialed:
	case <-ctx.Done():
		select {
		case <-dialed: // of two that are ready, this one counts
		default:
			return t.failure(begin, fmt.Errorf("still being started: %w", ctx.Err()))
		}
	}
	t.mu.Lock()
	c := t.conn
	t.mu.Unlock()
	if c == nil {
		return nil
	}
	c.stopped.Store(true)
	c.shutdown()
	if again {
		c.hurry()
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
		c.hurry()
		<-c.ended
	}
	return c.closeErr
}

// Process returns the process tree of the server, to look at: its pid, its members,
// what holds it together. It is nil before the server was started. To end it, use
// Stop, which begins with the server's stdin: a server that is killed through its
// Group counts as one that was killed by somebody else.
func (t *Transport) Process() *procgroup.Group {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		return nil
	}
	group, _ := t.conn.current.Load().proc.(*procgroup.Group)
	return group
}

// Err returns why the server ended: a [*Error]. It is nil while the server runs
// and when it ended cleanly: stopped at end of file or SIGTERM, or by itself with
// status 0 after its handshake.
func (t *Transport) Err() error {
	t.mu.Lock()
	c, err := t.conn, t.err
	t.mu.Unlock()
	if c == nil {
		return err
	}
	select {
	case <-c.ended:
		return c.closeErr
	default:
		return nil
	}
}
