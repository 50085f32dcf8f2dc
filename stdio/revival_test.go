//go:build unix

package stdio

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// mayfly returns a transport whose process ends when it has read its first line;
// then says what happens at its second start.
func mayfly(t *testing.T, then func() (process, error)) *Transport {
	starts := 0
	transport := &Transport{Command: exec.Command("fake")}
	transport.start = func(_ context.Context, cmd *exec.Cmd) (process, error) {
		if starts++; starts > 1 {
			require.Equal(t, 2, starts)
			require.NotSame(t, transport.Command, cmd, "a command can be started once")
			return then()
		}
		in, err := reopen(cmd.Stdin.(*os.File))
		require.NoError(t, err)
		p := newFakeProcess("")
		go func() {
			defer in.Close()
			bufio.NewReader(in).ReadString('\n')
			p.event("kill")
		}()
		return p, nil
	}
	return transport
}

// A start that fails the second time is told as what it is.
func TestTheSecondStartFails(t *testing.T) {
	missing := errors.New("no such program any more")
	transport := mayfly(t, func() (process, error) { return nil, missing })
	_, err := Connect(t.Context(), newTestClient(), transport, nil)
	require.ErrorIs(t, err, missing)
	require.ErrorContains(t, err, "ended at server/discover, and could not be started once more")
}

// A server that is stopped while it is started once more ends, too, and Stop waits
// for it.
func TestStopInTheMiddleOfTheSecondStart(t *testing.T) {
	second, entered, goOn := newFakeProcess("term"), make(chan struct{}), make(chan struct{})
	transport := mayfly(t, func() (process, error) {
		close(entered)
		<-goOn
		return second, nil
	})
	connected := make(chan error, 1)
	go func() {
		_, err := Connect(t.Context(), newTestClient(), transport, nil)
		connected <- err
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- transport.Stop(t.Context()) }()
	<-transport.connection().stopping
	close(goOn)
	within(t, stopped)
	require.ErrorIs(t, within(t, connected), ErrClosed)
	<-second.done
}

// While the probe lies unread in the pipe, its time has not begun: the server is
// still starting.
func TestTheProbeIsTimedFromItsReading(t *testing.T) {
	if !seesUnread(t) {
		t.Skip("SKIPPED for want of a look into the pipe: only Linux has it")
	}
	var in *os.File
	transport := &Transport{Command: exec.Command("fake"), probeTimeout: time.Nanosecond}
	fake := newFakeProcess("")
	transport.start = func(_ context.Context, cmd *exec.Cmd) (p process, err error) {
		in, err = reopen(cmd.Stdin.(*os.File))
		return fake, err
	}
	c, err := transport.dial(t.Context())
	require.NoError(t, err)
	defer func() {
		in.Close()
		c.fail(os.ErrInvalid)
		<-c.ended
	}()
	id, err := jsonrpc.MakeID(1.0)
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), &jsonrpc.Request{ID: id, Method: methodDiscover}))
	answer := make(chan jsonrpc.Message)
	go func() {
		msg, _ := c.Read(context.Background())
		answer <- msg
	}()
	select {
	case msg := <-answer:
		t.Fatalf("answered before it was read: %+v", msg)
	case <-time.After(5 * probeTick):
	}
	_, err = bufio.NewReader(in).ReadString('\n')
	require.NoError(t, err)
	msg := (<-answer).(*jsonrpc.Response)
	require.Equal(t, id, msg.ID)
	var wire *jsonrpc.Error
	require.ErrorAs(t, msg.Error, &wire)
	require.EqualValues(t, jsonrpc.CodeMethodNotFound, wire.Code)
}

func seesUnread(t *testing.T) bool {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer closeAll(r, w)
	require.False(t, hasUnread(w))
	_, err = w.Write([]byte("x"))
	require.NoError(t, err)
	return hasUnread(w)
}
