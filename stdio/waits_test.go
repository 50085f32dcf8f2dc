//go:build unix

package stdio

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// When the context of Connect has ended, Read waits for the client to notice, until
// that closes the connection, and for a moment at most.
func TestReadWaitsForTheClientToNotice(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*conn, context.CancelFunc) // after a second
		want time.Duration
	}{
		"nobody notices": {func(*conn, context.CancelFunc) {}, settleBound},
		"Close":          {func(c *conn, _ context.CancelFunc) { close(c.abandoned) }, time.Second},
		"its context":    {func(_ *conn, cancel context.CancelFunc) { cancel() }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := newConn(&Transport{Command: exec.Command("fake")}, time.Now())
				conn.handshake.expired, conn.endedAt = context.Canceled, time.Now()
				conn.cause = &Error{Err: context.Canceled}
				close(conn.ended)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(time.Second, func() { c.do(conn, cancel) })
				_, err := conn.Read(ctx)
				require.Same(t, conn.cause, err)
				require.Equal(t, c.want, time.Since(conn.endedAt))
			})
		})
	}
}

// A server to which nothing is written has not stalled, however long that is.
func TestNobodyStallsWhoHasTakenAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f, err := os.Pipe()
		require.NoError(t, err)
		defer r.Close()
		w := newWriter(f, time.Minute, func(err error) { t.Errorf("fail: %v", err) })
		defer w.close()
		require.NoError(t, w.write(context.Background(), []byte("x\n")))
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}

// A closed stdin is no cause where the server has exited: its tree is being swept.
func TestStdinEndedOfOneThatHasExited(t *testing.T) {
	c, ch := newTestConn(t)
	fake := ch.proc.(*fakeProcess)
	fake.exited = make(chan struct{})
	close(fake.exited) // its tree is being swept
	c.stdinEnded(ch)
	require.NoError(t, c.blamed())
}

// A message that nobody reads does not hold up the reader when all is over.
func TestNothingWaitsForAClientThatDoesNotRead(t *testing.T) {
	fake := newFakeProcess("")
	transport := &Transport{Command: exec.Command("fake")}
	transport.start = func(_ context.Context, cmd *exec.Cmd) (process, error) {
		_, err := fmt.Fprintln(cmd.Stdout.(*os.File), wholeMessage)
		return fake, err
	}
	c, err := transport.dial(t.Context())
	require.NoError(t, err)
	fake.event("kill")
	<-c.ended
	drained := make(chan error, 1)
	go func() { <-c.current.Load().drained; drained <- nil }()
	require.NoError(t, within(t, drained))
}

// Half of the handshake's time is left for initialize.
func TestProbeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		require.Equal(t, probeBound, probeTimeout(t.Context(), time.Minute))
		require.Equal(t, 50*time.Millisecond, probeTimeout(t.Context(), 100*time.Millisecond))
		require.Equal(t, 2*time.Second, probeTimeout(ctx, time.Minute))
	})
}

// Stop is not held up by a start that takes long, and ends what is started then.
func TestStopInTheMiddleOfAStart(t *testing.T) {
	fake, entered, goOn := newFakeProcess("term"), make(chan struct{}), make(chan struct{})
	transport := &Transport{Command: exec.Command("fake")}
	transport.start = func(context.Context, *exec.Cmd) (process, error) {
		close(entered)
		<-goOn
		return fake, nil
	}
	connected := make(chan error, 1)
	go func() {
		_, err := Connect(t.Context(), newTestClient(), transport, nil)
		connected <- err
	}()
	<-entered
	require.Nil(t, transport.Process())
	require.NoError(t, transport.Err())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := transport.Stop(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "spawn: still being started")
	close(goOn)
	require.ErrorIs(t, within(t, connected), ErrClosed)
	<-fake.done
}
