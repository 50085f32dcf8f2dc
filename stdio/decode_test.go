package stdio

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const wholeMessage = `{"jsonrpc":"2.0","id":1,"result":{}}`

func newTestConn(t *testing.T) *conn {
	t.Helper()
	p, err := newPipes()
	require.NoError(t, err)
	t.Cleanup(p.closeChild)
	t.Cleanup(p.closeOurs)
	c := newConn(&Transport{Command: exec.Command("fake")}, p, time.Now())
	c.proc = newFakeProcess("")
	t.Cleanup(func() { c.fail(nil) })
	return c
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
			conn := newTestConn(t)
			for range 2 {
				for range c.n {
					require.Nil(t, conn.decode([]byte(c.line)))
				}
				require.NoError(t, conn.blamed())
				require.NotNil(t, conn.decode([]byte(wholeMessage)))
			}
			for range c.n {
				conn.decode([]byte(c.line))
			}
			require.NoError(t, conn.blamed())
			conn.decode([]byte(c.line))
			require.Equal(t, ErrNoise, conn.blamed())
		})
	}
}

func TestDecode(t *testing.T) {
	conn := newTestConn(t)
	for _, line := range []string{wholeMessage, "\ufeff" + wholeMessage, " \t" + wholeMessage + " \r"} {
		require.NotNil(t, conn.decode([]byte(line)), "%q", line)
	}
	for _, line := range []string{"", " ", "\r", "\ufeff"} {
		require.Nil(t, conn.decode([]byte(line)), "%q", line)
	}
	for range noiseLines + 1 {
		conn.decode([]byte("\r"))
	}
	require.NoError(t, conn.blamed(), "any number of blank lines is no flood")
	require.Empty(t, conn.noise.first(), "none of it was noise")
	for _, line := range []string{"first", "second", "{}", "[]", wholeMessage[1:]} {
		require.Nil(t, conn.decode([]byte(line)), "%q", line)
	}
	require.Equal(t, "first", conn.noise.first())
}
