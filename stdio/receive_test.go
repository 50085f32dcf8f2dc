package stdio

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

const wholeMessage = `{"jsonrpc":"2.0","id":1,"result":{}}`

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
	close(conn.abandoned)
	conn.receive(ch, []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},`+wholeMessage+`]`), false)
	require.Empty(t, conn.batches.open, "it was left at its first element")
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
