package guardian

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Number 0 stands for a leader that was reaped, and, to kill(2), for our own group.
// This test binary runs itself in a group of its own: the answer to a wrong question
// is heard by nobody else.
func TestGroupOfAReapedLeaderIsNotSignalled(t *testing.T) {
	if os.Getenv("GUARDIAN_TEST_GROUP") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), "GUARDIAN_TEST_GROUP=1", "GORACE=atexit_sleep_ms=0")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "PASS: "+t.Name())
		return
	}
	heard := make(chan os.Signal, 2)
	signal.Notify(heard, syscall.SIGUSR1, syscall.SIGUSR2)
	(&guard{leader: 0}).killGroup(syscall.SIGUSR1)
	(&guard{leader: syscall.Getpgrp()}).killGroup(syscall.SIGUSR2)
	select {
	case sig := <-heard: // of two, the lower number comes first
		require.Equal(t, syscall.SIGUSR2, sig)
	case <-time.After(20 * time.Second):
		t.Fatal("a living leader's group was not signalled")
	}
	require.Empty(t, heard)
}
