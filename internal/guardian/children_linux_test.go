package guardian

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both ways of the kernel to tell the children tell the same.
func TestChildren(t *testing.T) {
	want := childrenByParent(os.Getpid()) // of whoever has become this process by execve
	for range 3 {
		cmd := exec.Command("sh", "-c", "sleep 60 & wait")
		require.NoError(t, cmd.Start())
		defer cmd.Wait()
		defer cmd.Process.Kill()
		want = append(want, cmd.Process.Pid)
	}
	require.ElementsMatch(t, want, childrenByParent(os.Getpid()))
	require.ElementsMatch(t, want, children(0))
	require.Empty(t, childrenByParent(-1))
}
