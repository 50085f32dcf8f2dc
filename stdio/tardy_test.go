//go:build unix

package stdio_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A reply that comes after Close has begun, and before the server has ended, arrives.
func TestAReplyThatComesWhileItCloses(t *testing.T) {
	for range 20 {
		transport, w := zoo(t, servers.Command("tardy"), atEOF)
		arrived, stderr, err := os.Pipe()
		require.NoError(t, err)
		defer arrived.Close()
		defer stderr.Close()
		transport.Stderr = stderr
		session := connect(t, transport)
		result := make(chan error, 1)
		go func() { result <- call(session) }()
		_, err = arrived.Read(make([]byte, 1)) // the server has the call
		require.NoError(t, err)
		require.NoError(t, session.Close())
		require.NoError(t, received(t, "the call", result))
		w.Gone(t)
	}
}
