package stdio

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

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
	ready, err := h.written(&jsonrpc.Request{Method: methodInitialized})
	require.NoError(t, err)
	require.True(t, ready)
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
	_, err = h.written(&jsonrpc.Request{Method: methodInitialized})
	require.ErrorIs(t, err, context.Canceled)
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

// The end of either bound is the reason that fail is given, and nothing fails
// a handshake that is over.
func TestHandshakeIsArmed(t *testing.T) {
	for name, c := range map[string]struct {
		ready, disarmed bool
		patience        time.Duration
		cancelled       bool
		want            error
	}{
		"patience":           {patience: time.Minute, want: ErrHandshakeTimeout},
		"context":            {patience: 2 * time.Hour, cancelled: true, want: context.Canceled},
		"ready, patience":    {ready: true, patience: time.Minute},
		"ready, context":     {ready: true, patience: 2 * time.Hour, cancelled: true},
		"disarmed, patience": {disarmed: true, patience: time.Minute},
		"disarmed, context":  {disarmed: true, patience: 2 * time.Hour, cancelled: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var failed []error
				h := handshake{ready: c.ready}
				h.arm(ctx, c.patience, func(err error) { failed = append(failed, err) })
				if c.disarmed {
					h.disarm()
				} else {
					defer h.disarm()
				}
				if c.cancelled {
					cancel()
				}
				time.Sleep(time.Hour) // of the fake clock
				synctest.Wait()
				if c.want == nil {
					require.Empty(t, failed)
					return
				}
				require.Equal(t, []error{c.want}, failed)
			})
		})
	}
}

// When the server has ended, its handshake is disarmed: nothing of it waits for
// the context any more, which may live as long as the host.
func TestTheEndDisarmsTheHandshake(t *testing.T) {
	fake := newFakeProcess("")
	c, err := fake.as(&Transport{Command: exec.Command("fake")}).dial(t.Context())
	require.NoError(t, err)
	disarmed, disarm := false, c.handshake.disarm
	c.handshake.disarm = func() { // asked for after the end only
		disarmed = true
		disarm()
	}
	fake.event("kill") // it ends by itself
	<-c.ended
	require.True(t, disarmed)
	require.True(t, c.current.Load().stdout.finishing.Load() && c.current.Load().stderr.finishing.Load(), "nor for a stranger who holds a pipe")
}

// A client that shares no version with the server goes on with initialize after a
// probe that was answered: from then on the bounds count again.
func TestHandshakeThatExpiresAfterAProbe(t *testing.T) {
	first, err := jsonrpc.MakeID(1.0)
	require.NoError(t, err)
	var failed []error
	var h handshake
	h.arm(t.Context(), time.Hour, func(err error) { failed = append(failed, err) })
	defer h.disarm()
	h.sent(&jsonrpc.Request{ID: first, Method: methodDiscover})
	h.answered(&jsonrpc.Response{ID: first})
	require.True(t, h.isReady())
	h.sent(&jsonrpc.Request{ID: first, Method: methodInitialize})
	h.expire(ErrHandshakeTimeout)
	require.Equal(t, []error{ErrHandshakeTimeout}, failed)
}

// An answer that comes when the time is over makes nobody ready: the server is
// being killed.
func TestHandshakeThatIsAnsweredTooLate(t *testing.T) {
	first, err := jsonrpc.MakeID(1.0)
	require.NoError(t, err)
	for _, method := range []string{methodDiscover, methodInitialize} {
		var h handshake
		h.arm(t.Context(), time.Hour, func(error) {})
		h.sent(&jsonrpc.Request{ID: first, Method: method})
		h.expire(ErrHandshakeTimeout)
		h.answered(&jsonrpc.Response{ID: first})
		require.False(t, h.isReady(), method)
		_, err = h.written(&jsonrpc.Request{Method: methodInitialized})
		require.ErrorIs(t, err, ErrHandshakeTimeout)
		require.False(t, h.isReady(), method)
		h.disarm()
	}
}
