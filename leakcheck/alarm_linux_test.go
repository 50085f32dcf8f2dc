package leakcheck_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
)

// stranger starts a process that this one is not an ancestor of, with the token of
// another test binary, and returns what ends it.
func stranger(t testing.TB, command string) (end func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "setsid "+command+" >/dev/null 2>&1 & echo $!")
	cmd.Env = append(os.Environ(), proctable.TokenVar+"=another")
	out, err := cmd.Output()
	require.NoError(t, err)
	var pid int
	_, err = fmt.Sscan(string(out), &pid)
	require.NoError(t, err)
	p, err := proctable.Lookup(pid)
	require.NoError(t, err)
	return func() { require.NoError(t, proctable.Signal(p.ID(), syscall.SIGKILL)) }
}

// busy keeps every processor at work for as long as this process lives.
func busy(t testing.TB) (end func()) {
	t.Helper()
	var ends []func()
	loop := fmt.Sprintf("while kill -0 %d; do :; done", os.Getpid())
	for range 2 * runtime.NumCPU() {
		ends = append(ends, stranger(t, "sh -c '"+loop+"'"))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// Nobody is accused who is not guilty, 200 times: not a stranger that was started in
// the middle, not one that is on its way out while the machine is busy, not the
// go command and what that starts.
func TestNoFalseAlarm(t *testing.T) {
	defer busy(t)()
	for round := range 200 {
		var test recorder
		leakcheck.VerifyNone(&test)
		end := stranger(t, "sleep 60")
		var waits sync.WaitGroup
		for _, script := range []string{"exit 0", "sleep 0.002 & wait", "sleep 0.002 >/dev/null 2>&1 & exit 0", "exec sleep 0.001"} {
			cmd := exec.Command("sh", "-c", script)
			require.NoError(t, cmd.Start())
			waits.Go(func() { cmd.Wait() }) // some time
		}
		if round%10 == 0 {
			require.NoError(t, exec.Command("go", "list", ".").Run())
		}
		require.Empty(t, test.finish(), "round %d", round)
		end()
		waits.Wait()
	}
}

// A process of the go command's that outlives it on purpose is nobody's leak.
func TestToolchainsOwnProcesses(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.Env = append(os.Environ(), "GO_TELEMETRY_CHILD=1")
	require.NoError(t, startInFull(cmd))
	err := leakcheck.Find(leakcheck.Within(0))
	cmd.Process.Kill()
	cmd.Wait()
	require.NoError(t, err)
}

// No test binary of one run accuses another's processes: the twins, 200 times in all and more,
// beside each other and beside those that leak.
func TestTwinsPassAgainAndAgain(t *testing.T) {
	rounds := "15"
	if testing.Short() {
		rounds = "3"
	}
	twins, err := filepath.Glob("testdata/leaks/*_repaired")
	require.NoError(t, err)
	require.Len(t, twins, len(packagesThatLeak))
	args := []string{"test", "-vet=off", "-p=8", "-parallel=4", "-timeout=200s", "-count=" + rounds}
	for _, twin := range append(twins, "testdata/leaks/forgetful", "testdata/leaks/orphan", "testdata/leaks/doublefork") {
		args = append(args, "./"+twin)
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	require.Error(t, err, "three of them leak")
	require.Equal(t, len(twins), strings.Count(string(out), "\nok  ")+strings.Count(string(out[:4]), "ok  "), string(out))
	require.NoError(t, leakcheck.Find())
}
