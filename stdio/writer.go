package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// writer puts whole frames on the server's stdin, one at a time.
//
// Its lock is a channel, because a mutex could not be waited for with a context,
// and close does not take it: a server that does not read must not be able to
// keep us from closing.
type writer struct {
	f      *os.File
	turn   chan struct{} // holds one token while a frame is being written
	closed chan struct{}
	once   sync.Once

	sent, broken bool // under the turn: whole frames, and one that failed

	patience time.Duration // with a server that takes nothing
	stalled  *time.Timer   // runs while somebody writes
	moved    atomic.Int64  // when the last whole chunk was taken, in Unix nanoseconds
}

// chunk is how much is written at once: a server that takes less within the
// writer's patience has stalled.
const chunk = 32 << 10

// errPartial: the caller gave up on a frame that is partly on the wire. The rest
// follows in the background.
var errPartial = errors.New("gave up on a message that is being sent")

// newWriter returns a writer to f that calls fail with ErrStdinStalled when
// nothing has been taken for as long as patience.
func newWriter(f *os.File, patience time.Duration, fail func(error)) *writer {
	w := &writer{f: f, turn: make(chan struct{}, 1), closed: make(chan struct{}), patience: patience}
	w.stalled = time.AfterFunc(patience, func() {
		fail(fmt.Errorf("%w for %v", ErrStdinStalled, patience))
	})
	w.stalled.Stop()
	return w
}

// close ends the stream, and any write in progress.
func (w *writer) close() {
	w.once.Do(func() {
		close(w.closed)
		w.f.Close()
	})
}

// write returns ctx.Err() if nothing of the frame was sent when ctx ended, and
// errPartial if some of it was.
func (w *writer) write(ctx context.Context, frame []byte) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closed:
		return os.ErrClosed
	}
	if ctx.Done() == nil {
		defer w.yield()
		_, err := w.send(frame)
		return err
	}
	if w.f.SetWriteDeadline(time.Time{}) != nil {
		return w.writeAside(ctx, frame)
	}

	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		w.f.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	n, err := w.send(frame)
	if !stop() {
		<-interrupted // or it would strike the next frame
		w.f.SetWriteDeadline(time.Time{})
	}
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		w.yield()
		return err
	case n == 0:
		w.yield()
		return ctx.Err()
	}
	go func() {
		defer w.yield()
		w.send(frame[n:]) // ends when the server reads, or with close
	}()
	return errPartial
}

// writeAside is for pipes without deadlines (see pipes): the write cannot be
// interrupted, only left alone.
func (w *writer) writeAside(ctx context.Context, frame []byte) error {
	result := make(chan error, 1)
	go func() {
		defer w.yield()
		_, err := w.send(frame)
		result <- err
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return errPartial
	}
}

// send writes frame, and watches whether the server takes it. The caller has the
// turn.
func (w *writer) send(frame []byte) (n int, err error) {
	defer w.stalled.Stop()
	for n < len(frame) && err == nil {
		w.stalled.Reset(w.patience)
		var m int
		m, err = w.f.Write(frame[n:min(len(frame), n+chunk)])
		n += m
		if err == nil { // of a part of it nobody knows when it was taken
			w.moved.Store(time.Now().UnixNano())
		}
	}
	w.sent, w.broken = w.sent || err == nil, w.broken || err != nil
	return n, err
}

// hasSentAll reports whether something was sent, and all that was tried. It may be
// called when the writer is closed, and nothing is sent any more then.
func (w *writer) hasSentAll() bool {
	w.turn <- struct{}{} // and keeps it
	return w.sent && !w.broken
}

// movedSince returns when the server last took something, or begin if that was
// later.
func (w *writer) movedSince(begin time.Time) time.Time {
	return time.Unix(0, max(begin.UnixNano(), w.moved.Load()))
}

func (w *writer) yield() { <-w.turn }
