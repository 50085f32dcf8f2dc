//go:build unix

package procgroup_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// stuck is a reader, a writer and a function that do not return before the test ends.
type stuck struct{ until <-chan struct{} }

func (s stuck) Read([]byte) (int, error)  { <-s.until; return 0, io.EOF }
func (s stuck) Write([]byte) (int, error) { <-s.until; return 0, io.ErrClosedPipe }
func (s stuck) cancel() error             { <-s.until; return nil }

// The caller's own parts of a command may block for ever, and may allow themselves an
// hour for it: who waits for the tree does not.
func TestCallersPartsCannotHoldUpTheEnd(t *testing.T) {
	block := map[string]func(cmd *exec.Cmd, s stuck, cancel func()){
		"Stdin":  func(cmd *exec.Cmd, s stuck, _ func()) { cmd.Stdin = s },
		"Stdout": func(cmd *exec.Cmd, s stuck, _ func()) { cmd.Stdout = s },
		"Cancel": func(cmd *exec.Cmd, s stuck, cancel func()) { cmd.Cancel = s.cancel; cancel() },
	}
	end := map[string]func(*procgroup.Group) error{
		"Stop": func(g *procgroup.Group) error { return g.Stop(context.Background()) },
		"Kill": (*procgroup.Group).Kill,
		"Done": func(g *procgroup.Group) error { killLeader(g.Pid()); <-g.Done(); return nil },
	}
	hold := func(c procgroup.Config, block func(*exec.Cmd, stuck, func()), end func(*procgroup.Group) error) error {
		until := make(chan struct{})
		defer close(until)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", "echo ready; exec sleep 60")
		cmd.WaitDelay = time.Hour
		started := func() {}
		block(cmd, stuck{until}, func() { started = cancel }) // cancelled when it runs
		g, err := c.Start(t.Context(), cmd)
		if err != nil {
			return err
		}
		started()
		ended := make(chan error, 1)
		go func() { ended <- end(g) }()
		select {
		case err := <-ended:
			return err
		case <-time.After(40 * time.Second):
			return errors.New("held up")
		}
	}
	var all sync.WaitGroup // each takes the 3 s that copying may take
	for kind, c := range kinds {
		for part, block := range block {
			for way, end := range end {
				all.Go(func() {
					if err := hold(c, block, end); err != nil {
						t.Errorf("%s, %s, %s: %v", kind, part, way, err)
					}
				})
			}
		}
	}
	all.Wait()
}

func killLeader(pid int) { syscall.Kill(pid, syscall.SIGKILL) }

// A reader that blocks does not hold up a start that fails either.
func TestCallersPartsCannotHoldUpAFailedStart(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		until := make(chan struct{})
		defer close(until)
		cmd := exec.Command("/no/such/program")
		cmd.Stdin, cmd.WaitDelay = stuck{until}, time.Hour
		failed := make(chan error, 1)
		go func() { _, err := c.Start(t.Context(), cmd); failed <- err }()
		select {
		case err := <-failed:
			require.ErrorIs(t, err, os.ErrNotExist)
		case <-time.After(40 * time.Second):
			t.Fatal("held up")
		}
		require.Nil(t, cmd.Process)
	})
}

// A Cancel function of the caller's may wait for what the kill does: it comes after.
func TestOwnCancelIsCalledAfterTheKill(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		w := servers.NewWitness(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cmd := servers.Command("stubborn-sleeper")
		cmd = w.Watch(withContext(ctx, cmd))
		gone := make(chan bool, 1)
		cmd.Cancel = func() error { gone <- w.Emptied(20 * time.Second); return nil }
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		w.Await(t, "stubborn-sleeper")
		cancel()
		within(t, g.Done())
		select {
		case ok := <-gone:
			require.True(t, ok, "the server lived on until Cancel returned")
		case <-time.After(40 * time.Second):
			t.Fatal("Cancel was not called")
		}
		require.ErrorContains(t, g.Wait(), "killed")
	})
}

func withContext(ctx context.Context, cmd *exec.Cmd) *exec.Cmd {
	with := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	with.Env = cmd.Env
	return with
}

// The default Cancel kills the child of the host. That may be the guardian, which
// would be missed.
func TestDefaultCancelIsReplaced(t *testing.T) {
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, "sleep", "60")
		g, err := procgroup.Start(t.Context(), cmd)
		require.NoError(t, err)
		cancel()
		err = g.Wait()
		require.ErrorContains(t, err, "signal: killed")
		require.NotContains(t, err.Error(), "guardian")
	}
}

// What the caller has set is his when Start returns, and carries no mark of it.
func TestCommandIsUnchangedAfterStart(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		for _, env := range [][]string{nil, append(os.Environ(), "OWN=1")} {
			attr := &syscall.SysProcAttr{}
			extra, w, err := os.Pipe()
			require.NoError(t, err)
			defer extra.Close()
			defer w.Close()
			cmd := exec.Command("sleep", "60")
			cmd.Env, cmd.SysProcAttr, cmd.ExtraFiles = env, attr, []*os.File{extra}
			path, args, had := cmd.Path, slices.Clone(cmd.Args), slices.Clone(env)
			g, err := c.Start(t.Context(), cmd)
			require.NoError(t, err)
			defer g.Kill()
			require.Equal(t, had, cmd.Env)
			require.Equal(t, path, cmd.Path)
			require.Equal(t, args, cmd.Args)
			require.Equal(t, []*os.File{extra}, cmd.ExtraFiles)
			require.Equal(t, syscall.SysProcAttr{}, *attr)

			second := exec.Command("cat")
			second.Env = append(cmd.Env, "SECOND=1")
			stdin, err := second.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, second.Start())
			members, err := g.Members()
			require.NoError(t, err)
			require.Len(t, members, 1, "a command made from this one is no part of its tree")
			require.NoError(t, g.Kill())
			stdin.Close()
			require.NoError(t, second.Wait(), "and not killed with it")
		}
	})
}

func TestWaitDelayIsSetWhereItWasZero(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		for given, want := range map[time.Duration]time.Duration{0: 2 * time.Second, time.Hour: time.Hour} {
			cmd := exec.Command("true")
			cmd.WaitDelay = given
			g, err := c.Start(t.Context(), cmd)
			require.NoError(t, err)
			require.Equal(t, want, cmd.WaitDelay)
			require.NoError(t, g.Wait())
		}
	})
}

func TestExtraFilesReachTheServer(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		cmd := exec.Command("sh", "-c", "cat <&3; cat <&5")
		for _, text := range []string{"three ", "", "five"} {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			io.WriteString(w, text)
			w.Close()
			defer r.Close()
			cmd.ExtraFiles = append(cmd.ExtraFiles, r)
		}
		cmd.ExtraFiles[1] = nil // closed in the child
		var out strings.Builder
		cmd.Stdout = &out
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		require.NoError(t, g.Wait())
		require.Equal(t, "three five", out.String())
	})
}

// The kernel looks for a relative path in the child's directory, not in the host's.
func TestRelativeDirWithRelativePath(t *testing.T) {
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.Symlink(sh, filepath.Join(dir, "sub", "program")))
	t.Chdir(dir)
	each(t, func(t *testing.T, c procgroup.Config) {
		cmd := exec.Command("./program", "-c", "pwd -P")
		cmd.Dir = "sub"
		var out strings.Builder
		cmd.Stdout = &out
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		require.NoError(t, g.Wait())
		real, err := filepath.EvalSymlinks(filepath.Join(dir, "sub"))
		require.NoError(t, err)
		require.Equal(t, real+"\n", out.String())
	})
}

func TestCommandWithoutArgs(t *testing.T) {
	cat, err := exec.LookPath("cat")
	require.NoError(t, err)
	each(t, func(t *testing.T, c procgroup.Config) {
		cmd := &exec.Cmd{Path: cat}
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		io.WriteString(stdin, "x")
		_, err = out.Read(make([]byte, 1)) // it runs: Start returns before execve is done
		require.NoError(t, err)
		members, err := g.Members()
		require.NoError(t, err)
		require.Len(t, members, 1)
		require.Equal(t, []string{cat}, members[0].Argv)
		require.Nil(t, cmd.Args)
		stdin.Close()
		require.NoError(t, g.Wait())
	})
}

// Nothing is left of a start that fails, a zombie included.
func TestFailedStartLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		for _, path := range []string{"/no/such/program", t.TempDir(), file(t, "#!/no/such/interpreter\n", 0o755)} {
			cmd := exec.Command(path)
			before := resources(t).children
			g, err := c.Start(t.Context(), cmd)
			require.Error(t, err)
			require.Nil(t, g)
			require.Nil(t, cmd.Process)
			require.Nil(t, cmd.ProcessState)
			require.LessOrEqual(t, resources(t).children, before)
		}
		all, err := proctable.List()
		require.NoError(t, err)
		for _, p := range proctable.Descendants(all, os.Getpid()) {
			require.NotContains(t, strings.Join(proctable.Argv(p.PID), " "), "stdioguard-guardian")
		}
	})
}
