package guardian

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// What the janitor reads of processes is what package proctable does.
func TestJanitorReadsAsTheTableDoes(t *testing.T) {
	j := &janitor{token: "mine"}
	_, own := statOf(os.Getpid())
	require.GreaterOrEqual(t, uptime(), own)
	require.Less(t, uptime(), own+600*ticksPerSecond)
	all, err := proctable.List()
	require.NoError(t, err)
	for _, p := range all {
		kernel, start := statOf(p.PID)
		// In a namespace of PIDs number 2 is anybody, who may have ended by now.
		kthread := p.PID == 2 && slices.Equal(proctable.Argv(2), []string{"[kthreadd]"})
		if now, err := proctable.Lookup(p.PID); err == nil && now.Alive() && now.ID() == p.ID() {
			require.Equal(t, p.Start, start, "pid %d", p.PID)
			require.False(t, kthread && !kernel, "pid %d", p.PID)
			require.False(t, p.PID == os.Getpid() && kernel)
		}
	}
	cmd := exec.Command("cat")
	cmd.Env = []string{"FIRST=" + strings.Repeat("x", 40<<10), proctable.TokenVar + "=other,mine"}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer stdin.Close()
	environ, shown := environAfterExec(cmd.Process.Pid)
	require.True(t, shown)
	require.True(t, j.carries(environ))
	require.False(t, (&janitor{token: "min"}).carries(environ))
	require.False(t, j.carries(environ+ToolchainVar+"=1\x00"))

	stdin.Close()
	_, err = cmd.Process.Wait()
	require.NoError(t, err)
	_, shown = environOf(cmd.Process.Pid)
	require.False(t, shown)
	_, start := statOf(cmd.Process.Pid)
	require.Zero(t, start, "nobody")
}

// environAfterExec waits for the end of execve: Start returns before that.
func environAfterExec(pid int) (environ string, shown bool) {
	environ, shown = environOf(pid)
	for shown && environ == "" {
		pause(1)
		environ, shown = environOf(pid)
	}
	return environ, shown
}

// A zombie is nobody, and a number that has changed hands is not ours.
func TestJanitorEndsOnlyWhatCarriesTheToken(t *testing.T) {
	const own = "janitor-test"
	start := func(token string) *exec.Cmd {
		cmd := exec.Command("sleep", "60")
		cmd.Env = append(os.Environ(), proctable.TokenVar+"="+token)
		require.NoError(t, cmd.Start())
		return cmd
	}
	carrier, spared, stranger := start(own), start(own), start("another")
	defer spared.Wait()
	defer spared.Process.Kill()
	defer stranger.Wait()
	defer stranger.Process.Kill()

	j := &janitor{token: own, found: make(map[leftover]string), alive: make(map[leftover]bool)}
	_, begin := statOf(spared.Process.Pid)
	j.spared = []leftover{{spared.Process.Pid, begin}, {carrier.Process.Pid, 1}} // 1: another holder
	for len(j.order) == 0 {                                                      // inside execve at first
		require.True(t, j.end(carrier.Process.Pid))
	}
	environAfterExec(stranger.Process.Pid)
	require.False(t, j.end(spared.Process.Pid))
	require.False(t, j.end(stranger.Process.Pid))
	err := carrier.Wait()
	require.ErrorContains(t, err, "killed")
	require.Len(t, j.order, 1)
	require.Contains(t, j.found[j.order[0]], `"sleep" "60"`)
	for _, cmd := range []*exec.Cmd{spared, stranger} {
		p, err := proctable.Lookup(cmd.Process.Pid)
		require.NoError(t, err)
		require.True(t, p.Alive())
	}

	zombie := exec.Command("true")
	require.NoError(t, zombie.Start())
	defer zombie.Wait()
	for peek(zombie.Process.Pid) == false {
		pause(1)
	}
	_, begin = statOf(zombie.Process.Pid)
	require.Zero(t, begin)
	require.NoError(t, syscall.Kill(zombie.Process.Pid, 0), "it is there")
}
