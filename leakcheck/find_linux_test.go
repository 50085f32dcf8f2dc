package leakcheck_test

import (
	"bufio"
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A process inside execve has no environment: who does not look again takes it for a
// stranger's. A few of these rounds meet one.
func TestFindLooksAgainAtAProcessInsideExec(t *testing.T) {
	for round := range 300 {
		require.NoError(t, exec.Command("sh", "-c", "sleep 20 & exit 0").Run())
		err := leakcheck.Find(leakcheck.Within(0))
		var leak *leakcheck.LeakError
		require.ErrorAs(t, err, &leak, "round %d", round)
		for _, l := range leak.Leaks {
			end(t, l.PID)
		}
	}
	require.NoError(t, leakcheck.Find())
}

// end kills a process and waits until it is gone, or somebody's zombie.
func end(t *testing.T, pid int) {
	t.Helper()
	p, err := proctable.Lookup(pid)
	if err == nil {
		err = proctable.Signal(p.ID(), syscall.SIGKILL)
	}
	if !errors.Is(err, proctable.ErrNoProcess) {
		require.NoError(t, err)
	}
}

// What was found has children by the time that it is killed: looking once is not
// enough. This one makes some two hundred, one in a millisecond; each ends by itself.
func TestKillIsRepeatedUntilQuiet(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("SKIPPED: no perl to fork fast enough")
	}
	const script = `use POSIX; $| = 1; print "raging\n"; close STDOUT;
		for (1..200) { if (!fork) { POSIX::setsid(); sleep 20; exit } select undef, undef, undef, 0.001 } sleep 20`
	for range 3 {
		cmd := exec.Command("perl", "-e", script)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, repeat(leakcheck.Within(0)), "(child)")
		cmd.Wait()
		require.NoError(t, leakcheck.Find(leakcheck.Within(0)), "somebody lives on")
	}
}

// A process whose main thread has ended looks like a zombie, and nobody waits for
// somebody else's zombie.
func TestProcessWithoutItsMainThreadIsFound(t *testing.T) {
	w := servers.NewWitness(t)
	cmd := w.Watch(servers.Shell("sh", "run headless </dev/null >/dev/null 2>&1 & exit 0"))
	require.NoError(t, cmd.Run())
	pid := w.Await(t, "headless")[0].PID
	var leak *leakcheck.LeakError
	require.ErrorAs(t, leakcheck.Find(leakcheck.Within(0)), &leak)
	var pids []int
	for _, l := range leak.Leaks {
		pids = append(pids, l.PID)
	}
	require.Contains(t, pids, pid)
	require.Contains(t, repeat(leakcheck.Within(0)), "(orphan")
	w.Gone(t)
}
