//go:build unix

package procgroup_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// resources counts descriptors and goroutines.
func resources(t *testing.T) [2]int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	require.NoError(t, err)
	return [2]int{len(entries), runtime.NumGoroutine()}
}

func getsid(pid int) (int, error) { return unix.Getsid(pid) }
