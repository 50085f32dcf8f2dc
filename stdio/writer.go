package stdio

import (
	"context"
	"errors"
	"os"
	"sync"
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
}

// errPartial: the caller gave up on a frame that is partly on the wire. The rest
// follows in the background.
var errPartial = errors.New("gave up on a message that is being sent")

func newWriter(f *os.File) *writer {
	return &writer{f: f, turn: make(chan struct{}, 1), closed: make(chan struct{})}
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
		_, err := w.f.Write(frame)
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
	n, err := w.f.Write(frame)
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
		w.f.Write(frame[n:]) // ends when the server reads, or with close
	}()
	return errPartial
}

// writeAside is for pipes without deadlines (Windows): the write cannot be
// interrupted, only left alone.
func (w *writer) writeAside(ctx context.Context, frame []byte) error {
	result := make(chan error, 1)
	go func() {
		defer w.yield()
		_, err := w.f.Write(frame)
		result <- err
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return errPartial
	}
}

func (w *writer) yield() { <-w.turn }
