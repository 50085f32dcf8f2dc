package stdio

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// fakeProcess ends at the rungs it is told to, for the order of things in time.
type fakeProcess struct {
	mu     sync.Mutex
	begin  time.Time
	log    []string
	endsAt string
	done   chan struct{}
	once   sync.Once
}

func (p *fakeProcess) event(name string) {
	p.mu.Lock()
	p.log = append(p.log, time.Since(p.begin).String()+" "+name)
	p.mu.Unlock()
	if name == p.endsAt || name == "kill" {
		p.once.Do(func() { close(p.done) })
	}
}

func (p *fakeProcess) Pid() int                   { return 1 << 30 }
func (p *fakeProcess) Exited() <-chan struct{}    { return p.done }
func (p *fakeProcess) Done() <-chan struct{}      { return p.done }
func (p *fakeProcess) Wait() error                { <-p.done; return nil }
func (p *fakeProcess) Stop(context.Context) error { p.event("term"); <-p.done; return nil }
func (p *fakeProcess) Kill() error                { p.event("kill"); return nil }

func TestLadder(t *testing.T) {
	for name, c := range map[string]struct {
		endsAt   string
		ready    bool
		do       func(*conn)
		want     []string
		killed   bool
		duration time.Duration
	}{
		"SIGTERM":            {"term", true, (*conn).shutdown, []string{"2s term"}, false, 2 * time.Second},
		"stubborn":           {"", true, (*conn).shutdown, []string{"2s term", "4s kill"}, true, 4 * time.Second},
		"stubborn, unready":  {"", false, (*conn).shutdown, []string{"200ms term", "400ms kill"}, true, 400 * time.Millisecond},
		"failed":             {"", true, func(c *conn) { c.fail(os.ErrInvalid) }, []string{"0s kill"}, true, 0},
		"hurried in the EOF": {"", true, func(c *conn) { c.shutdown(); <-time.After(time.Second); c.hurry() }, []string{"1s kill"}, true, time.Second},
		"hurried in TERM":    {"", true, func(c *conn) { c.shutdown(); <-time.After(3 * time.Second); c.hurry() }, []string{"2s term", "3s kill"}, true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := newPipes()
				require.NoError(t, err)
				defer p.closeChild()
				defer p.closeOurs()
				fake := &fakeProcess{begin: time.Now(), endsAt: c.endsAt, done: make(chan struct{})}
				conn := newConn(&Transport{Command: exec.Command("fake")}, p, time.Now())
				defer conn.hurry()
				conn.proc = fake
				conn.handshake.ready = c.ready
				c.do(conn)
				<-fake.done
				synctest.Wait()
				require.Equal(t, c.want, fake.log)
				require.Equal(t, c.killed, conn.killed.Load())
				require.Equal(t, c.duration, time.Since(fake.begin))
				_, err = p.stdin.Write([]byte("x"))
				require.ErrorIs(t, err, os.ErrClosed, "end of file comes first")
			})
		})
	}
}

func TestHandshakeStates(t *testing.T) {
	id := func(n float64) jsonrpc.ID {
		id, err := jsonrpc.MakeID(n)
		require.NoError(t, err)
		return id
	}
	request := func(n float64, method string) *jsonrpc.Request {
		return &jsonrpc.Request{ID: id(n), Method: method}
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	var h handshake
	h.arm(ctx, time.Hour, func(err error) { failed <- err })
	defer h.disarm()

	h.sent(request(1, methodDiscover))
	h.answered(&jsonrpc.Response{ID: id(1), Error: os.ErrInvalid})
	require.False(t, h.isReady(), "a refused probe")
	h.sent(request(2, methodDiscover))
	h.answered(&jsonrpc.Response{ID: id(9)})
	require.False(t, h.isReady(), "another's answer")
	h.answered(&jsonrpc.Response{ID: id(2)})
	require.True(t, h.isReady())

	h.sent(request(3, methodInitialize))
	require.False(t, h.isReady(), "the client goes on with initialize")
	h.written(&jsonrpc.Request{Method: methodInitialized})
	require.False(t, h.isReady(), "initialized before the answer")
	h.answered(&jsonrpc.Response{ID: id(3)})
	require.False(t, h.isReady())
	require.NoError(t, h.written(&jsonrpc.Request{Method: methodInitialized}))
	require.True(t, h.isReady())

	h.expire(context.Canceled) // counts for nothing now
	h.sent(request(4, methodDiscover))
	h.sent(request(5, methodInitialize))
	require.True(t, h.isReady())
	require.Empty(t, failed)
	cancel()
}

func TestHandshakeThatExpires(t *testing.T) {
	first, err := jsonrpc.MakeID(1.0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	var h handshake
	h.arm(ctx, time.Hour, func(err error) { failed <- err })
	defer h.disarm()
	h.sent(&jsonrpc.Request{ID: first, Method: methodInitialize})
	h.answered(&jsonrpc.Response{ID: first})
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	// Too late: the kill is under way, and the client must not hear of a success.
	require.ErrorIs(t, h.written(&jsonrpc.Request{Method: methodInitialized}), context.Canceled)
	require.False(t, h.isReady())
}

// A probe that has succeeded too late for its own handshake fails the one that
// follows it.
func TestInitializeAfterAProbeIsBoundedToo(t *testing.T) {
	first, err := jsonrpc.MakeID(1.0)
	require.NoError(t, err)
	failed := make(chan error, 1)
	var h handshake
	h.arm(t.Context(), time.Hour, func(err error) { failed <- err })
	defer h.disarm()
	h.sent(&jsonrpc.Request{ID: first, Method: methodDiscover})
	h.answered(&jsonrpc.Response{ID: first})
	h.expire(ErrHandshakeTimeout)
	require.Empty(t, failed)
	h.sent(&jsonrpc.Request{ID: first, Method: methodInitialize})
	require.ErrorIs(t, <-failed, ErrHandshakeTimeout)
}
