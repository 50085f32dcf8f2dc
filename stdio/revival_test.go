//go:build unix

package stdio

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/procgroup"
)

// mayfly returns a transport whose process ends when it has read its first line, as
// the function ends it; then says what happens at its second start.
func mayfly(t *testing.T, end func(*fakeProcess), then func(*exec.Cmd) (process, error)) *Transport {
	starts := 0
	transport := &Transport{Command: exec.Command("fake")}
	transport.start = func(_ context.Context, cmd *exec.Cmd) (process, error) {
		if starts++; starts > 1 {
			require.Equal(t, 2, starts)
			require.NotSame(t, transport.Command, cmd, "a command can be started once")
			return then(cmd)
		}
		in, err := reopen(cmd.Stdin.(*os.File))
		require.NoError(t, err)
		p := newFakeProcess("")
		p.exited = make(chan struct{})
		go func() {
			defer in.Close()
			bufio.NewReader(in).ReadString('\n')
			end(p)
		}()
		return p, nil
	}
	return transport
}

func atOnce(p *fakeProcess) {
	close(p.exited)
	p.event("kill")
}

func never(t *testing.T) func(*exec.Cmd) (process, error) {
	return func(*exec.Cmd) (process, error) {
		t.Error("it was started once more")
		return nil, os.ErrInvalid
	}
}

func requestOf(t *testing.T, n float64, method string) *jsonrpc.Request {
	t.Helper()
	id, err := jsonrpc.MakeID(n)
	require.NoError(t, err)
	return &jsonrpc.Request{ID: id, Method: method}
}

// A start that fails the second time is told as what it is.
func TestTheSecondStartFails(t *testing.T) {
	missing := errors.New("no such program any more")
	transport := mayfly(t, atOnce, func(*exec.Cmd) (process, error) { return nil, missing })
	_, err := Connect(t.Context(), newTestClient(), transport, nil)
	require.ErrorIs(t, err, missing)
	require.ErrorContains(t, err, "ended at server/discover, and could not be started once more")
}

// The end of the lifetime context between two lives is the end of the lifetime, and
// not that of the context of Connect.
func TestTheLifetimeEndsBetweenTwoLives(t *testing.T) {
	transport := mayfly(t, atOnce, func(*exec.Cmd) (process, error) { return nil, context.Canceled })
	_, err := Connect(t.Context(), newTestClient(), transport, nil)
	require.ErrorIs(t, err, ErrClosed)
	require.NotErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "the context of its command ended")
}

// What Leftovers keeps would be there twice.
func TestLeftoversThatAreKeptAreNotDoubled(t *testing.T) {
	transport := mayfly(t, atOnce, never(t))
	transport.Group.Leftovers = procgroup.Keep
	_, err := Connect(t.Context(), newTestClient(), transport, nil)
	require.ErrorIs(t, err, errExited)
}

// A server that ends before anything can be written to it has not ended of that.
func TestAServerThatIsDeadBeforeTheProbe(t *testing.T) {
	transport := &Transport{Command: exec.Command("fake")}
	starts := 0
	transport.start = func(context.Context, *exec.Cmd) (process, error) {
		starts++
		p := newFakeProcess("")
		p.exited = make(chan struct{}) // not seen before the probe has failed
		p.event("kill")
		return p, nil
	}
	c, err := transport.dial(t.Context())
	require.NoError(t, err)
	written := make(chan error, 1)
	go func() { written <- c.Write(context.Background(), requestOf(t, 1, methodDiscover)) }()
	for !c.current.Load().writer.hasFailed() {
		runtime.Gosched()
	}
	close(c.current.Load().proc.(*fakeProcess).exited)
	require.ErrorIs(t, within(t, written), errExited)
	require.Equal(t, 1, starts)
}

// A server is given two lives, and the death in the second is told.
func TestThereIsNoThirdLife(t *testing.T) {
	second := mayfly(t, atOnce, never(t))
	transport := mayfly(t, atOnce, func(cmd *exec.Cmd) (process, error) { return second.start(nil, cmd) })
	c, err := transport.dial(t.Context())
	require.NoError(t, err)
	for n := 1.0; n <= 2; n++ {
		require.NoError(t, c.Write(t.Context(), requestOf(t, n, methodDiscover)))
		msg, err := c.Read(t.Context())
		require.NoError(t, err)
		if n == 2 {
			require.ErrorIs(t, msg.(*jsonrpc.Response).Error, errExited)
		}
	}
	<-c.ended
}

// Of a server that has ended it is decided when its tree is gone, and no timer
// decides before.
func TestTheProbeIsNotTimedAfterTheEnd(t *testing.T) {
	goOn := make(chan struct{})
	transport := mayfly(t, func(p *fakeProcess) {
		close(p.exited)
		<-goOn // its tree is being swept
		p.event("kill")
	}, func(*exec.Cmd) (process, error) { return nil, os.ErrNotExist })
	transport.probeTimeout = probeTick
	c, err := transport.dial(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), requestOf(t, 1, methodDiscover)))
	answer := make(chan jsonrpc.Message, 1)
	go func() {
		msg, _ := c.Read(context.Background())
		answer <- msg
	}()
	select {
	case msg := <-answer:
		t.Errorf("answered: %+v", msg)
	case <-time.After(5 * probeTick):
	}
	close(goOn)
	require.ErrorIs(t, (<-answer).(*jsonrpc.Response).Error, os.ErrNotExist, "the second start")
	<-c.ended
}

// A server that is stopped while it is started once more ends, too, and Stop waits
// for it.
func TestStopInTheMiddleOfTheSecondStart(t *testing.T) {
	second, entered, goOn := newFakeProcess("term"), make(chan struct{}), make(chan struct{})
	transport := mayfly(t, atOnce, func(*exec.Cmd) (process, error) {
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

// Two probes on their way are two calls, and each gets its answer.
func TestTwoProbes(t *testing.T) {
	c, err := inProcess{newFakeProcess("end of file"), false}.as(&Transport{Command: exec.Command("fake")}).dial(t.Context())
	require.NoError(t, err)
	defer c.Close()
	for n := 1.0; n <= 2; n++ {
		require.NoError(t, c.Write(t.Context(), requestOf(t, n, methodDiscover)))
	}
	for n := int64(1); n <= 2; n++ {
		msg, err := c.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, n, msg.(*jsonrpc.Response).ID.Raw())
		require.ErrorContains(t, msg.(*jsonrpc.Response).Error, "no license for this host")
	}
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
	probe := requestOf(t, 1, methodDiscover)
	require.NoError(t, c.Write(t.Context(), probe))
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
	require.Equal(t, probe.ID, msg.ID)
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

// A server that is stopped when its first life is over has no second.
func TestStopBetweenTwoLives(t *testing.T) {
	swept := make(chan struct{})
	transport := mayfly(t, func(p *fakeProcess) {
		close(p.exited)
		<-swept
		p.event("kill")
	}, never(t))
	c, err := transport.dial(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), requestOf(t, 1, methodDiscover)))
	require.Eventually(t, func() bool { return Crashed(transport) }, 40*time.Second, time.Millisecond)
	stopped := make(chan error, 1)
	go func() { stopped <- transport.Stop(context.Background()) }()
	<-c.stopping
	close(swept)
	within(t, stopped)
}

// The answer to the probe that nobody reads holds nobody up.
func TestASecondLifeOfWhichNobodyHears(t *testing.T) {
	second := newFakeProcess("term")
	transport := mayfly(t, atOnce, func(*exec.Cmd) (process, error) { return second, nil })
	c, err := transport.dial(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), requestOf(t, 1, methodDiscover)))
	require.Eventually(t, func() bool { return c.current.Load().proc == process(second) }, 40*time.Second, time.Millisecond)
	stopped := make(chan error, 1)
	go func() { stopped <- transport.Stop(context.Background()) }()
	within(t, stopped)
}
