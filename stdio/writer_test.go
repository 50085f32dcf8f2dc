//go:build unix

package stdio

import (
	"bytes"
	"context"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newTestWriter(t *testing.T) (w *writer, r *os.File) {
	t.Helper()
	r, f, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	require.NoError(t, r.SetReadDeadline(time.Now().Add(40*time.Second))) // a failure, not a hang
	w = newWriter(f, time.Hour, func(err error) { t.Errorf("fail: %v", err) })
	t.Cleanup(w.close)
	return w, r
}

// fill puts bytes into the pipe until not one more fits, and returns how many.
func fill(t *testing.T, f *os.File) (n int) {
	t.Helper()
	raw, err := f.SyscallConn()
	require.NoError(t, err)
	for size := 4096; size > 0; {
		require.NoError(t, raw.Write(func(fd uintptr) bool {
			done, err := syscall.Write(int(fd), make([]byte, size))
			if err != nil {
				size /= 2
			} else {
				n += done
			}
			return true
		}))
	}
	return n
}

// within fails the test where a result does not come.
func within(t *testing.T, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(40 * time.Second):
		t.Fatal("still blocked")
		return nil
	}
}

func (w *writer) goWrite(ctx context.Context, frame []byte) <-chan error {
	result := make(chan error, 1)
	go func() { result <- w.write(ctx, frame) }()
	return result
}

// bigFrame does not fit into any pipe, and its bytes tell their place.
func bigFrame() []byte {
	frame := make([]byte, 0, 2<<20)
	for i := 0; len(frame) < cap(frame)-8; i++ {
		frame = append(frame, byte(i), byte(i>>8), byte(i>>16))
	}
	return frame
}

// A frame of which nothing was sent is dropped.
func TestWriterDropsWhatWasNotSent(t *testing.T) {
	w, r := newTestWriter(t)
	n := fill(t, w.f)
	ctx, cancel := context.WithCancel(t.Context())
	first := w.goWrite(ctx, []byte("dropped\n"))
	second := w.goWrite(ctx, []byte("dropped too\n")) // waits for its turn
	cancel()
	require.Equal(t, context.Canceled, within(t, first))
	require.Equal(t, context.Canceled, within(t, second))

	_, err := io.CopyN(io.Discard, r, int64(n))
	require.NoError(t, err)
	require.NoError(t, w.write(t.Context(), []byte("whole\n")))
	w.close()
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "whole\n", string(rest))
}

// A frame of which a part was sent is finished in the background, and the next
// one waits for it.
func TestWriterFinishesWhatWasSentInPart(t *testing.T) {
	w, r := newTestWriter(t)
	frame := bigFrame()
	ctx, cancel := context.WithCancel(t.Context())
	result := w.goWrite(ctx, frame)
	got := make([]byte, 1)
	_, err := io.ReadFull(r, got) // a part of it is on its way now
	require.NoError(t, err)
	cancel()
	require.Equal(t, errPartial, within(t, result))
	require.Len(t, w.turn, 1, "the turn is kept until the rest is sent")

	require.Equal(t, context.Canceled, within(t, w.goWrite(ctx, []byte("dropped\n"))))
	next := w.goWrite(context.Background(), []byte("next\n"))
	rest := make([]byte, len(frame)-1+len("next\n"))
	_, err = io.ReadFull(r, rest)
	require.NoError(t, err)
	require.NoError(t, within(t, next))
	require.True(t, bytes.Equal(append(frame, "next\n"...), append(got, rest...)), "the stream is not whole")
	w.close()
	n, err := io.Copy(io.Discard, r)
	require.NoError(t, err)
	require.Zero(t, n, "more than was written")
}

// close does not wait for its turn: it ends the write in progress, the one that
// waits, and the one that is finished in the background.
func TestWriterCloseUnblocks(t *testing.T) {
	for name, ctx := range map[string]context.Context{"with a context": t.Context(), "without": context.Background()} {
		t.Run(name, func(t *testing.T) {
			w, r := newTestWriter(t)
			writing := w.goWrite(ctx, bigFrame())
			_, err := io.ReadFull(r, make([]byte, 1))
			require.NoError(t, err)
			waiting := w.goWrite(ctx, []byte("x"))
			w.close()
			w.close()
			require.ErrorIs(t, within(t, writing), os.ErrClosed)
			require.ErrorIs(t, within(t, waiting), os.ErrClosed)
			require.ErrorIs(t, w.write(ctx, []byte("x")), os.ErrClosed)
		})
	}
	t.Run("in the background", func(t *testing.T) {
		w, r := newTestWriter(t)
		ctx, cancel := context.WithCancel(t.Context())
		result := w.goWrite(ctx, bigFrame())
		_, err := io.ReadFull(r, make([]byte, 1))
		require.NoError(t, err)
		cancel()
		require.Equal(t, errPartial, within(t, result))
		w.close()
		turn := make(chan error, 1)
		go func() { w.turn <- struct{}{}; turn <- nil }()
		require.NoError(t, within(t, turn))
	})
}

// The end of a context strikes the frame it was given with, or nothing.
func TestWriterInterruptsNoOtherFrame(t *testing.T) {
	w, r := newTestWriter(t)
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, r)
		read <- err
	}()
	for i := range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if err := w.write(ctx, make([]byte, 64<<10)); err != nil && err != errPartial {
			require.ErrorIs(t, err, context.Canceled)
		}
		var next context.Context = context.Background()
		if i%2 == 0 {
			next = t.Context()
		}
		require.NoError(t, within(t, w.goWrite(next, []byte("next\n"))))
	}
	w.close()
	require.NoError(t, within(t, read))
}
