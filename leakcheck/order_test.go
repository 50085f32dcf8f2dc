//go:build unix

package leakcheck_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func sleeper(t *testing.T) (cmd *exec.Cmd, end func()) {
	t.Helper()
	cmd = servers.Command("sleeper")
	require.NoError(t, cmd.Start())
	return cmd, func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// The check comes after all that was registered with t.Cleanup behind it, and after
// all that was deferred behind it.
func TestCheckComesAfterCleanup(t *testing.T) {
	t.Run("first line, cleanup", func(t *testing.T) {
		leakcheck.VerifyNone(t, leakcheck.Within(0))
		_, end := sleeper(t)
		t.Cleanup(end)
	})
	t.Run("first line, deferred", func(t *testing.T) {
		leakcheck.VerifyNone(t, leakcheck.Within(0))
		_, end := sleeper(t)
		defer end()
	})
	t.Run("deferred, deferred", func(t *testing.T) {
		defer leakcheck.VerifyNone(t, leakcheck.Within(0))
		_, end := sleeper(t)
		defer end()
	})
	t.Run("deferred, subtest", func(t *testing.T) {
		defer leakcheck.VerifyNone(t, leakcheck.Within(0))
		t.Run("sub", func(t *testing.T) {
			_, end := sleeper(t)
			t.Cleanup(end)
		})
	})
}

// A deferred call comes before what the test has registered with t.Cleanup.
func TestDeferredCheckComesBeforeCleanup(t *testing.T) {
	var test recorder
	ended := false
	func() {
		defer leakcheck.VerifyNone(&test, leakcheck.Within(0))
		_, end := sleeper(t)
		test.Cleanup(func() { end(); ended = true })
	}()
	require.Contains(t, test.finish(), "(child)")
	require.True(t, ended)
}

// Two checks of one test: the one that was asked for last comes first, and what it
// has found is not charged again.
func TestTwoChecksOfATest(t *testing.T) {
	var test recorder
	leakcheck.VerifyNone(&test, leakcheck.Within(0))
	_, end := sleeper(t)
	defer end()
	leakcheck.VerifyNone(&test, leakcheck.Within(0))
	test.finish()
	require.Len(t, test.report, 1)
}
