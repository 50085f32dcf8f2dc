//go:build unix

package stdio_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A process that the server leaves behind, in its own session and with nothing in
// its environment that tells whose it is, keeps stdout and stderr open: pending calls
// fail all the same, Close does not wait for it, and the status is the server's.
func TestTheHeirOfThePipesHoldsNobodyUp(t *testing.T) {
	for name, args := range map[string][]string{"stdout": nil, "stderr": {"stderr"}} {
		for _, noGuardian := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/no guardian=%v", name, noGuardian), func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, servers.Command("testator", args...), atEOF)
				transport.Group = procgroup.Config{NoGuardian: noGuardian}
				session := connect(t, transport)
				err := bounded(t, "the call", func() error { return call(session) })
				require.ErrorContains(t, err, "running: exit status 5")
				require.ErrorIs(t, err, stdio.ErrOutcomeUnknown)
				if noGuardian {
					w.Await(t, "stubborn-sleeper")
					require.NotEmpty(t, w.Alive(), "the pipe is held by nobody: the test proves nothing")
				}
				err = bounded(t, "Close", session.Close)
				var typed *stdio.Error
				require.ErrorAs(t, err, &typed)
				require.Equal(t, 5, typed.Exit.ExitCode())
				require.False(t, strings.Contains(err.Error(), "stdout"))
			})
		}
	}
}
