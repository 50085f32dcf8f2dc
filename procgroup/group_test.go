//go:build unix

package procgroup_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// start starts a server of the zoo and returns when it and its children are ready.
func start(t *testing.T, c procgroup.Config, cmd *exec.Cmd, names ...string) (*procgroup.Group, *servers.Witness) {
	t.Helper()
	w := servers.NewWitness(t)
	if cmd.Stdin == nil {
		r, stdin, err := os.Pipe() // held open: end of file is not the subject
		require.NoError(t, err)
		t.Cleanup(func() { r.Close(); stdin.Close() })
		cmd.Stdin = r
	}
	g, err := c.Start(t.Context(), w.Watch(cmd))
	require.NoError(t, err)
	w.Await(t, names...)
	return g, w
}

func killByNumber(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, p.Kill())
	p.Release()
}

// The grace is an hour: only a rung that ends as soon as the tree is empty lets
// these tests end.
func TestStopReturnsWhenTheTreeIsEmpty(t *testing.T) {
	g, w := start(t, procgroup.Config{Grace: time.Hour}, servers.Shell("sh", "run sleeper & run sleeper; true"), "sleeper", "sleeper")
	require.NoError(t, g.Stop(t.Context()))
	w.Gone(t)
	require.NoError(t, g.Stop(t.Context()), "a second time")
	require.NoError(t, g.Kill(), "after the end")
	require.NoError(t, g.Signal(syscall.SIGTERM), "after the end")
}

func TestStopReachesAStoppedProcess(t *testing.T) {
	g, w := start(t, procgroup.Config{Grace: time.Hour}, servers.Command("sleeper"), "sleeper")
	require.NoError(t, g.Signal(syscall.SIGSTOP))
	require.NoError(t, g.Stop(t.Context()))
	w.Gone(t)
}

func TestEndOfStopsContextSkipsTheGrace(t *testing.T) {
	g, w := start(t, procgroup.Config{Grace: time.Hour}, servers.Command("stubborn-sleeper"), "stubborn-sleeper")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, g.Stop(ctx))
	w.Gone(t)
}

func TestKillOvertakesStop(t *testing.T) {
	g, w := start(t, procgroup.Config{Grace: time.Hour}, servers.Command("stubborn-sleeper"), "stubborn-sleeper")
	var stops sync.WaitGroup
	stops.Go(func() { require.NoError(t, g.Stop(context.Background())) })
	require.NoError(t, g.Kill())
	stops.Wait()
	w.Gone(t)
}

func TestContextOfTheCommandKillsTheTree(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "sh", "-c", "sleep 60 & sleep 60")
	g, err := procgroup.Start(t.Context(), cmd)
	require.NoError(t, err)
	cancel()
	var exit *exec.ExitError
	require.ErrorAs(t, g.Wait(), &exit)
	require.Equal(t, "signal: killed", exit.Error())
}

func TestWaitTellsTheStatus(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":          "",
		"exit 3":          "exit status 3",
		"kill -SEGV $$":   "signal: segmentation fault",
		"sleep 60 & exit": "",
	} {
		g, err := procgroup.Start(t.Context(), exec.Command("sh", "-c", script))
		require.NoError(t, err)
		if err = g.Wait(); want == "" {
			require.NoError(t, err, script)
		} else {
			require.ErrorContains(t, err, want, script)
		}
		require.Equal(t, err, g.Wait(), "the same every time")
	}
}

func TestStatusStolenByAnotherWait(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("sh", "-c", "sleep 60 & read line")
	cmd.Stdin = r
	gate := make(chan struct{}, 1)
	g, err := procgroup.Gated(procgroup.Config{NoGuardian: true}, gate).Start(t.Context(), cmd)
	require.NoError(t, err)
	r.Close()
	gate <- struct{}{} // for this look, and until the theft for no other
	members, err := g.Members()
	require.NoError(t, err)
	require.NotEmpty(t, members)

	w.Close()
	_, err = syscall.Wait4(cmd.Process.Pid, nil, 0, nil)
	close(gate)
	require.NoError(t, err)
	require.ErrorIs(t, g.Wait(), procgroup.ErrStatusUnknown)
	require.NoError(t, g.Stop(t.Context()))
	for _, m := range members {
		p, err := proctable.Lookup(m.PID)
		require.False(t, err == nil && p.Alive(), "pid %d %q", m.PID, m.Argv)
	}
}

func TestOutputIsComplete(t *testing.T) {
	// It fits into a pipe, also into one of a user who has many: that is of one page. So it
	// is all there when the leader has ended.
	const size = 4000
	script := "head -c 4000 /dev/zero; exec sh -c 'sleep 60 & exit 0'"

	cmd := exec.Command("sh", "-c", script)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	g, err := procgroup.Start(t.Context(), cmd)
	require.NoError(t, err)
	<-g.Done()
	all, err := io.ReadAll(pipe)
	require.NoError(t, err)
	require.Len(t, all, size)
	require.NoError(t, g.Wait())
	_, err = pipe.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrClosed, "Wait has closed it")

	var buffer bytes.Buffer
	cmd = exec.Command("sh", "-c", script)
	cmd.Stdout = &buffer
	g, err = procgroup.Start(t.Context(), cmd)
	require.NoError(t, err)
	require.NoError(t, g.Wait())
	require.Equal(t, size, buffer.Len())
}

func TestSession(t *testing.T) {
	for name, keep := range map[string]bool{"its own": false, "the host's": true} {
		t.Run(name, func(t *testing.T) {
			g, _ := start(t, procgroup.Config{KeepTerminal: keep}, servers.Command("sleeper"), "sleeper")
			members, err := g.Members()
			require.NoError(t, err)
			require.Len(t, members, 1)
			require.Equal(t, g.Pid(), members[0].PGID)
			require.WithinDuration(t, time.Now(), members[0].Start, 2*time.Minute)
			sid, err := getsid(g.Pid())
			require.NoError(t, err)
			own, err := getsid(0)
			require.NoError(t, err)
			if keep {
				require.Equal(t, own, sid)
			} else {
				require.Equal(t, g.Pid(), sid)
			}
			require.NoError(t, g.Kill())
		})
	}
}

// Every method from many goroutines at once, at any point of the life of a tree.
func TestConcurrentUse(t *testing.T) {
	for range 20 {
		g, err := procgroup.Start(t.Context(), exec.Command("sh", "-c", "sleep 60 & sleep 60"))
		require.NoError(t, err)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() { g.Signal(syscall.SIGUSR1) })
			all.Go(func() { g.Members() })
			all.Go(func() { g.Wait() })
			all.Go(func() { require.NoError(t, g.Stop(context.Background())) })
			if i == 3 {
				all.Go(func() { require.NoError(t, g.Kill()) })
			}
		}
		all.Wait()
	}
}
