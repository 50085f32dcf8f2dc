//go:build unix

package stdio

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/procgroup"
)

// Whoever has ended in any other way than of the probe is not started again.
func TestWhoHasDiedOfTheProbe(t *testing.T) {
	for name, spoil := range map[string]func(*conn, *child){
		"":                         func(*conn, *child) {},
		"it has not read it":       func(_ *conn, ch *child) { ch.listened = false },
		"nothing was sent":         func(_ *conn, ch *child) { ch.writer.sent = false },
		"not all was sent":         func(_ *conn, ch *child) { ch.writer.broken = true },
		"a reason of ours":         func(c *conn, _ *child) { c.blame(ErrNoise) },
		"it was the second life":   func(c *conn, _ *child) { c.spare = nil },
		"another call was pending": func(c *conn, _ *child) { c.pending.sent(requestOf(t, 2, "ping")) },
		"no call was pending":      func(c *conn, _ *child) { c.pending.pop() },
		"it ended when asked to":   func(_ *conn, ch *child) { ch.crashed.Store(false) },
		"leftovers are kept":       func(c *conn, _ *child) { c.transport.Group.Leftovers = procgroup.Keep },
	} {
		t.Run(name, func(t *testing.T) {
			c, ch := newTestConn(t)
			c.pending.sent(requestOf(t, 1, methodDiscover))
			ch.listened, ch.writer.sent = true, true
			ch.crashed.Store(true)
			spoil(c, ch)
			require.Equal(t, name == "", c.diedOfProbe(ch))
		})
	}
}

func TestProbeStates(t *testing.T) {
	var p probe
	first, second := requestOf(t, 1, methodDiscover).ID, requestOf(t, 2, methodDiscover).ID
	_, ok := p.take()
	require.False(t, ok, "none was sent")
	require.False(t, p.heard(jsonrpc.ID{}), "an answer without an ID")
	settled := p.begin(first)
	p.begin(second)
	select {
	case <-settled:
	default:
		t.Error("the timer of the first would answer the second")
	}
	require.False(t, p.heard(first), "an ordinary call by now")
	id, ok := p.take()
	require.True(t, ok)
	require.Equal(t, second, id)
	_, ok = p.take()
	require.False(t, ok, "once only")
	require.True(t, p.heard(second), "the server's own answer comes too late")
}
