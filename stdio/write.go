package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Write sends a message. It gives up when ctx ends: a frame of which nothing was
// sent is dropped; one that was sent in part is finished in the background,
// so that the stream stays whole. The error then wraps that of ctx and
// [ErrStdinStalled]. A server that takes less than 32 KiB in 60 s while there is more
// to take is failed with ErrStdinStalled.
//
// After the end of the server Write returns the cause, and after Close an error
// that wraps [ErrClosed]. A nil message is an error that wraps os.ErrInvalid and costs
// the connection nothing. It may be called at any time, from any goroutine.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	request, _ := msg.(*jsonrpc.Request)
	response, _ := msg.(*jsonrpc.Response)
	if request == nil && response == nil {
		return c.newError(errNilMessage)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	frame, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return c.newError(err)
	}
	if err := ctx.Err(); err != nil { // large ones take their time
		return err
	}
	if request != nil {
		return c.writeRequest(ctx, request, frame)
	}
	if frame = c.batches.collect(response.ID, frame); frame == nil {
		return nil // until the last answer of its batch
	}
	begin, ch := time.Now(), c.current.Load()
	if err := ch.writer.write(ctx, append(frame, '\n')); err != nil {
		return c.writeError(ctx, begin, ch, err)
	}
	return nil
}

var errNilMessage = fmt.Errorf("nil message: %w", os.ErrInvalid)

func (c *conn) writeRequest(ctx context.Context, r *jsonrpc.Request, frame []byte) error {
	// Before the bytes go out: the answer may be there before we are back.
	c.pending.sent(r)
	c.handshake.sent(r)
	c.probed(r)
	begin, ch := time.Now(), c.current.Load()
	err := ch.writer.write(ctx, append(frame, '\n'))
	if err == nil {
		ready, err := c.handshake.written(r)
		if ready {
			c.events.ready()
		}
		return err
	}
	if !errors.Is(err, errPartial) {
		c.pending.answered(r.ID)
		c.probe.heard(r.ID)
	}
	if r.Method == methodCancelled && !c.handshake.isReady() {
		// The SDK sends it when the context of Connect ends, and would take the
		// failure for the cause of all that follows.
		return nil
	}
	return c.writeError(ctx, begin, ch, err)
}

// writeError prefers the reason of the end to the broken pipe that it caused.
// The server that broke the pipe is about to be noticed: that is waited for as
// long as the caller likes, and a moment at most.
func (c *conn) writeError(ctx context.Context, begin time.Time, ch *child, err error) error {
	if ctx.Err() != nil {
		return c.gaveUp(begin, ch, ctx.Err())
	}
	if c.isStopping() && c.blamed() == nil {
		return c.newError(ErrClosed)
	}
	if isBroken(err) {
		ch.deaf.Do(func() { time.AfterFunc(settleBound, func() { c.stdinEnded(ch) }) })
	}
	select {
	case <-c.ended:
		return c.cause
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * settleBound):
		return c.newError(cmp.Or(c.blamed(), err))
	}
}

// stdinEnded sees to a server that cannot be spoken to any more and lives on.
func (c *conn) stdinEnded(ch *child) {
	select {
	case <-ch.proc.Exited():
	default:
		c.fail(errStdinEnded)
	}
}

// gaveUp is the error of a write that took too long for its caller.
func (c *conn) gaveUp(begin time.Time, ch *child, err error) error {
	blocked := time.Since(ch.writer.movedSince(begin)).Round(time.Millisecond)
	if blocked == 0 {
		return err // it was over before it began
	}
	return c.newError(fmt.Errorf("%w for %v: %w", ErrStdinStalled, blocked, err))
}
