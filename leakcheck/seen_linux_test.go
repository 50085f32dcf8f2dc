package leakcheck

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Who was a descendant at one look is found at the next by that alone: his parent has
// ended, and he has no environment.
func TestWhoWasSeenBeforeIsFoundAgain(t *testing.T) {
	cmd := exec.Command("sh", "-c", "env -i sleep 60 >/dev/null 2>&1; true")
	require.NoError(t, cmd.Start())
	s := newSearch(scope{}, nil)
	find := func(how string) (found Leak) {
		require.Eventually(t, func() bool {
			leaks, _, err := s.look()
			for _, l := range leaks {
				if found = l; l.How == how && l.Argv[0] == "sleep" {
					return true
				}
			}
			require.NoError(t, err)
			return false
		}, 20*time.Second, time.Millisecond)
		return found
	}
	before := find(asDescendant)
	require.NoError(t, cmd.Process.Kill())
	require.ErrorContains(t, cmd.Wait(), "killed")
	after := find(asSeen)
	require.Equal(t, before.id, after.id)
	require.NoError(t, Find(), "a search of its own has not seen him")

	require.Empty(t, s.kill([]Leak{after}))
	leaks, _, err := s.look()
	require.NoError(t, err)
	require.Empty(t, leaks)
}
