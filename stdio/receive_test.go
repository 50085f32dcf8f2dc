//go:build unix

package stdio

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// newTestConn returns a connection to a fake process of which nothing is read.
func newTestConn(t *testing.T) (*conn, *child) {
	t.Helper()
	transport := newFakeProcess("").as(&Transport{Command: exec.Command("fake")})
	c := newConn(transport, time.Now())
	c.events = newEvents(transport, c.begin, c.fail)
	ch, err := c.launch(transport.Command)
	require.NoError(t, err)
	t.Cleanup(ch.pipes.closeOurs)
	c.current.Store(ch)
	t.Cleanup(func() { c.fail(nil) })
	return c, ch
}

// received returns what the connection makes of a line: a message, or nil.
func (c *conn) received(ch *child, line string) (msg jsonrpc.Message) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.receive(ch, []byte(line), false)
	}()
	select {
	case msg = <-c.incoming:
		<-done
	case <-done:
	}
	return msg
}

// Noise is a flood when there is too much of it in a row: a message in between
// makes it start anew, in lines and in bytes.
func TestNoiseIsCountedFromTheLastMessage(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		n    int // as many in a row are no flood, and one more is
	}{
		"lines": {"x", noiseLines},
		"bytes": {strings.Repeat("x", 1<<20), noiseBytes >> 20},
	} {
		t.Run(name, func(t *testing.T) {
			conn, ch := newTestConn(t)
			for range 2 {
				for range c.n {
					require.Nil(t, conn.received(ch, c.line))
				}
				require.NoError(t, conn.blamed())
				require.NotNil(t, conn.received(ch, wholeMessage))
			}
			for range c.n {
				conn.received(ch, c.line)
			}
			require.NoError(t, conn.blamed())
			conn.received(ch, c.line)
			require.ErrorIs(t, conn.blamed(), ErrNoise)
			_, all := ch.noise.account()
			require.Equal(t, 3*c.n+1, all)
		})
	}
}

// Nobody waits for the end of a long array that nobody takes.
func TestABatchThatNobodyTakes(t *testing.T) {
	conn, ch := newTestConn(t)
	conn.transport.Noise = FailOnNoise
	conn.transport.OnNoise = func(line []byte) { t.Errorf("noise: %s", line) }
	close(conn.abandoned)
	conn.receive(ch, []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},`+wholeMessage+`]`), false)
	require.Empty(t, conn.batches.open, "it was left at its first element")
	require.NoError(t, conn.blamed())
}

// What is no message in an array of messages is noise, and fails the call that it was
// meant to answer.
func TestABatchWithOtherThings(t *testing.T) {
	conn, ch := newTestConn(t)
	conn.pending.sent(requestOf(t, 1, "tools/call"))
	got := make(chan jsonrpc.Message, 2)
	go func() {
		for range cap(got) {
			got <- <-conn.incoming
		}
	}()
	conn.receive(ch, []byte(`[7,{"jsonrpc":"2.0","id":1,"error":"no"},{"jsonrpc":"2.0","id":2,"result":{}}]`), false)
	require.ErrorIs(t, (<-got).(*jsonrpc.Response).Error, errGarbled)
	require.Equal(t, int64(2), (<-got).(*jsonrpc.Response).ID.Raw())
	_, all := ch.noise.account()
	require.Equal(t, 2, all)
}

func TestReceive(t *testing.T) {
	conn, ch := newTestConn(t)
	for _, line := range []string{wholeMessage, "\ufeff" + wholeMessage, " \t" + wholeMessage + " \r"} {
		require.NotNil(t, conn.received(ch, line), "%q", line)
	}
	for _, line := range []string{"", " ", "\r", "\ufeff"} {
		require.Nil(t, conn.received(ch, line), "%q", line)
	}
	for range noiseLines + 1 {
		conn.received(ch, "\r")
	}
	require.NoError(t, conn.blamed(), "any number of blank lines is no flood")
	_, all := ch.noise.account()
	require.Zero(t, all, "none of it was noise")
	for _, line := range []string{"first", "second", "{}", "[]", wholeMessage[1:]} {
		require.Nil(t, conn.received(ch, line), "%q", line)
	}
	first, all := ch.noise.account()
	require.Equal(t, "first", first)
	require.Equal(t, 5, all)
}

// Only what was meant to answer a call fails one.
func TestGarbledThatNobodyWaitsFor(t *testing.T) {
	c, ch := newTestConn(t)
	c.pending.sent(requestOf(t, 1, "tools/call"))
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":2,"error":"no"}`,            // nobody has called
		`{"id":1,"error":"a line of a log"}`,               // no JSON-RPC
		`{"jsonrpc":"2.0","id":1,"method":7,"error":"no"}`, // a request
		`{"jsonrpc":"2.0","id":1,"Result":1,"result":`,     // no JSON
	} {
		require.Nil(t, c.received(ch, line), "%s", line)
	}
	require.NotNil(t, c.received(ch, `{"jsonrpc":"2.0","id":1,"error":"no"}`))
}

// What comes after the flood was noticed does not count.
func TestFloodCountsNoMore(t *testing.T) {
	var n noise
	for range noiseLines + 1 {
		n.heard([]byte("x"))
	}
	_, flood := n.heard([]byte("x"))
	require.False(t, flood)
	_, all := n.account()
	require.Equal(t, noiseLines+1, all)
}
