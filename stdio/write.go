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
// [ErrStdinStalled]. A server that takes nothing for 60 s while there is something
// to take is failed with ErrStdinStalled.
//
// After the end of the server Write returns the cause, and after Close an error
// that wraps [ErrClosed]. A nil message is an error that wraps os.ErrInvalid and costs
// the connection nothing. It may be called at any time, from any goroutine.
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
	if err := ctx.Err(); err != nil { // large ones take their time
		return err
	}
	begin := time.Now()
	request, _ := msg.(*jsonrpc.Request)
	if request == nil {
		if frame = c.batches.collect(msg.(*jsonrpc.Response).ID, frame); frame == nil {
			return nil // until the last answer of its batch
		}
	} else {
		// Before the bytes go out: the answer may be there before we are back.
		c.pending.sent(request)
		c.handshake.sent(request)
		c.probed(request)
	}
	if err := c.current.Load().writer.write(ctx, append(frame, '\n')); err != nil {
		if request != nil && request.Method == methodCancelled && !c.handshake.isReady() {
			// The SDK sends it when the context of Connect ends, and would take the
			// failure for the cause of all that follows.
			return nil
		}
		if request != nil && !errors.Is(err, errPartial) {
			c.pending.answered(request.ID)
		}
		return c.writeError(ctx, begin, err)
	}
	if request == nil {
		return nil
	}
	ready, err := c.handshake.written(request)
	if ready {
		c.events.ready()
	}
	return err
}

var errNilMessage = fmt.Errorf("nil message: %w", os.ErrInvalid)

// writeError prefers the reason of the end to the broken pipe that it caused.
// The server that broke the pipe is about to be noticed: that is waited for as
// long as the caller likes, and a moment at most.
func (c *conn) writeError(ctx context.Context, begin time.Time, err error) error {
	if ctx.Err() != nil {
		return c.gaveUp(begin, ctx.Err())
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
		return c.newError(cmp.Or(c.blamed(), err))
	}
}

// gaveUp is the error of a write that took too long for its caller.
func (c *conn) gaveUp(begin time.Time, err error) error {
	blocked := time.Since(c.current.Load().writer.movedSince(begin)).Round(time.Millisecond)
	if blocked == 0 {
		return err // it was over before it began
	}
	return c.newError(fmt.Errorf("%w for %v: %w", ErrStdinStalled, blocked, err))
}
