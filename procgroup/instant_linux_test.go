package procgroup_test

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// The host is killed at a random instant around Start, many times.
func TestHostKilledWhileItStarts(t *testing.T) {
	w := servers.NewWitness(t)
	for range rounds(200) {
		cmd := w.Watch(hostCommand("start"))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n') // it is about to call Start
		require.NoError(t, err)
		timer := time.NewTimer(time.Duration(rand.Int64N(int64(12 * time.Millisecond))))
		<-timer.C
		require.NoError(t, cmd.Process.Kill())
		cmd.Wait()
	}
	// All hosts are dead: what they started follows, and reports to nobody.
	require.Eventually(t, func() bool { return len(w.Alive()) == 0 && len(offspring(t)) == 0 }, 10*time.Second, 5*time.Millisecond)
}

// rounds is fewer with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// The guardian is killed first, and then, before anybody has asked for anything,
// the host. It needs a few milliseconds in between; a machine on which nobody gets any for
// half a second is given more.
func TestGuardianAndThenHostAreKilled(t *testing.T) {
	for _, between := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 8 * time.Second} {
		w := servers.NewWitness(t)
		if killGuardianAndThenHost(t, w, between); w.Emptied(3 * time.Second) {
			return
		}
		t.Logf("%v were not enough for %v", between, w.Alive())
	}
	t.Fatal("nobody ends what is left")
}

func killGuardianAndThenHost(t *testing.T, w *servers.Witness, between time.Duration) {
	host := w.Watch(hostCommand("guardian: SIGKILL"))
	in, out := pipes(t, host)
	defer in.Close()
	require.NoError(t, host.Start())
	defer host.Wait()
	defer host.Process.Kill()
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	leader, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	w.Await(t, "clan", "stubborn-sleeper", "stubborn-sleeper", "stubborn-sleeper")
	p, err := proctable.Lookup(leader)
	require.NoError(t, err)
	guardian, err := proctable.Lookup(p.PPID)
	require.NoError(t, err)
	require.Equal(t, host.Process.Pid, guardian.PPID)
	require.NoError(t, proctable.Signal(guardian.ID(), syscall.SIGKILL))
	w.Emptied(between)
}

// A host that is pid 1 of a container has nobody above it, and gets all orphans.
func TestHostIsPidOne(t *testing.T) {
	for _, event := range []string{"guardian: Kill", "guardian: Stop", "direct: Kill"} {
		host := hostCommand(event)
		self, err := os.Executable()
		require.NoError(t, err)
		inside := exec.Command("unshare", "-pf", "--mount-proc", self)
		inside.Env = host.Env
		in, out := pipes(t, inside)
		var errs strings.Builder
		inside.Stderr = &errs
		require.NoError(t, inside.Start())
		if _, err := out.ReadString('\n'); err != nil {
			inside.Wait()
			t.Skip("SKIPPED: no pid namespace to be had: ", errs.String())
		}
		io.WriteString(in, "\n")
		answer, err := out.ReadString('\n')
		require.NoError(t, err, errs.String())
		require.Equal(t, "done\n", answer, event)
		io.WriteString(in, "\n")
		require.NoError(t, inside.Wait(), errs.String())
	}
}

// offspring lists live processes that a host of this test has caused.
func offspring(t *testing.T) (pids []int) {
	t.Helper()
	tokens := strings.Split(os.Getenv(proctable.TokenVar), ",") // whoever has started this test may have one, too
	own := tokens[len(tokens)-1]
	all, err := proctable.List()
	require.NoError(t, err)
	for _, p := range all {
		carries, err := proctable.Carrier(p, own)
		require.NoError(t, err)
		if p.PID != os.Getpid() && carries == proctable.Yes {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// The context ends at a random instant around Start, many times.
func TestContextEndsWhileItStarts(t *testing.T) {
	for range rounds(1000) {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(rand.Int64N(int64(8*time.Millisecond))), cancel)
		g, err := procgroup.Start(ctx, exec.Command("sh", "-c", "sleep 60 & sleep 60"))
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			continue
		}
		<-g.Done()
		require.NoError(t, g.Stop(t.Context()))
		timer.Stop()
		cancel()
	}
}
