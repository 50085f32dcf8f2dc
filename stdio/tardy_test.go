package stdio_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A reply that comes after Close has begun, and before the server has ended, arrives.
func TestAReplyThatComesWhileItCloses(t *testing.T) {
	for range 20 {
		transport, w := zoo(t, servers.Command("tardy"), atEOF)
		session, result := callInFlight(t, transport)
		require.NoError(t, session.Close())
		require.NoError(t, received(t, "the call", result))
		w.Gone(t)
	}
}
