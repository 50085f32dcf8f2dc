package proctable

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process that has the token before execve and after it is at no moment in between
// one that has it not.
func TestCarrierIsNeverWrongAboutAProcessInsideExec(t *testing.T) {
	for range 300 {
		cmd := exec.Command("sh", "-c", "read line; exec sleep 0.01")
		cmd.Env = append(os.Environ(), "FIRST="+strings.Repeat("x", 3000), TokenVar+"=mine")
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		p, err := Lookup(cmd.Process.Pid)
		require.NoError(t, err)
		stdin.Close()
		var answers [3]int
		for end := time.Now().Add(3 * time.Millisecond); time.Now().Before(end); {
			carries, err := Carrier(p, "mine")
			require.NoError(t, err)
			answers[carries]++
		}
		if now, err := Lookup(p.PID); err == nil && now.Alive() {
			require.Zero(t, answers[No], "No, Yes, Unsure: %v", answers)
		}
		require.NoError(t, cmd.Wait())
	}
}

func TestLongEnvironmentIsReadInFull(t *testing.T) {
	for _, size := range []int{100, 16<<10 - 60, 16 << 10, 120_000} {
		cmd := exec.Command("cat")
		cmd.Env = []string{"FIRST=" + strings.Repeat("x", size), TokenVar + "=mine"}
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		carries := Unsure // Start returns before execve is done
		for end := time.Now().Add(20 * time.Second); carries == Unsure && time.Now().Before(end); {
			carries, err = Carrier(Process{PID: cmd.Process.Pid}, "mine")
			require.NoError(t, err)
		}
		require.Equal(t, Yes, carries, size)
		stdin.Close()
		require.NoError(t, cmd.Wait())
	}
}

func TestEmptyEnvironmentLeavesADoubt(t *testing.T) {
	cmd := exec.Command("cat")
	cmd.Env = []string{}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	carries, err := Carrier(Process{PID: cmd.Process.Pid}, "mine")
	require.NoError(t, err)
	require.Equal(t, Unsure, carries)
	stdin.Close()
	require.NoError(t, cmd.Wait())
}
