package procgroup_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
)

// roleVar makes this test binary play a part in a tree instead of running tests.
const roleVar = "STDIOGUARD_TEST_JOB_ROLE"

// console serves the window, shown or not, of a member, and is a member itself.
const console = "conhost.exe"

// gone is how long the system may take to end what has lost its last handle.
const gone = 3 * time.Second

func init() {
	play, ok := map[string]func(){
		"sleeper": func() { time.Sleep(time.Minute) },
		"parent":  func() { bear(0); time.Sleep(time.Minute) },
		"leaver":  func() { bear(0); os.Exit(7) },
		"exit":    func() { os.Exit(3) },
		"daemon":  func() { bear(windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP); os.Exit(0) },
		"rebel": func() {
			cmd := role("sleeper")
			cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_BREAKAWAY_FROM_JOB}
			fmt.Println(cmd.Start())
		},
		"host": func() {
			cmd := role("parent")
			cmd.Stdout = os.Stdout
			if _, err := procgroup.Start(context.Background(), cmd); err != nil {
				panic(err)
			}
			time.Sleep(time.Minute)
		},
	}[os.Getenv(roleVar)]
	if ok {
		play()
		os.Exit(0)
	}
}

// bear starts a child that sleeps, and says who is who.
func bear(flags uint32) {
	cmd := role("sleeper")
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println(os.Getpid(), cmd.Process.Pid)
}

func role(name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+name)
	return cmd
}

// start starts a role that bears a child.
func start(t *testing.T, c procgroup.Config, cmd *exec.Cmd) (g *procgroup.Group, pids []int) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	g, err = c.Start(t.Context(), cmd)
	require.NoError(t, err)
	t.Cleanup(func() { g.Kill(); g.Wait() })
	return g, readPids(t, out)
}

func readPids(t *testing.T, out io.Reader) (pids []int) {
	t.Helper()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	for field := range strings.FieldsSeq(line) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	require.Len(t, pids, 2)
	return pids
}

// requireGone is about numbers that may be given out again, but not so soon.
func requireGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		p, err := proctable.Lookup(pid)
		require.ErrorIs(t, err, proctable.ErrNoProcess, "pid %d: %+v %q", pid, p, proctable.Argv(pid))
	}
}

func requireExit(t *testing.T, code int, err error) {
	t.Helper()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, code, exit.ExitCode())
}

func TestJobKill(t *testing.T) {
	g, pids := start(t, procgroup.Config{}, role("parent"))
	require.Equal(t, g.Pid(), pids[0])

	members, err := g.Members()
	require.NoError(t, err)
	var listed []int
	for _, m := range members {
		require.WithinDuration(t, time.Now(), m.Start, time.Minute)
		if program := filepath.Base(m.Argv[0]); program != console {
			require.Equal(t, filepath.Base(os.Args[0]), program)
			listed = append(listed, m.PID)
		}
	}
	require.ElementsMatch(t, pids, listed)

	require.NoError(t, g.Kill())
	requireGone(t, pids...)
	requireExit(t, 1, g.Wait())
	members, err = g.Members()
	require.NoError(t, err)
	require.Empty(t, members)
	require.NoError(t, g.Kill())
	require.NoError(t, g.Signal(os.Kill))
}

func TestJobStopHasNoGrace(t *testing.T) {
	g, pids := start(t, procgroup.Config{Grace: time.Minute}, role("parent"))
	require.ErrorIs(t, g.Signal(os.Interrupt), errors.ErrUnsupported)
	members, err := g.Members()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(members), 2, "a signal that is unsupported has no effect")

	begun := time.Now()
	require.NoError(t, g.Stop(context.Background()))
	require.Less(t, time.Since(begun), 30*time.Second)
	requireGone(t, pids...)
}

func TestJobSweepsWhatTheLeaderLeft(t *testing.T) {
	for name, code := range map[string]int{"leaver": 7, "daemon": 0} {
		t.Run(name, func(t *testing.T) {
			g, pids := start(t, procgroup.Config{}, role(name))
			err := g.Wait()
			requireGone(t, pids...)
			if code == 0 {
				require.NoError(t, err)
			} else {
				requireExit(t, code, err)
			}
			require.NoError(t, g.Stop(context.Background()))
		})
	}
}

func TestJobKeepsWhatTheLeaderLeft(t *testing.T) {
	g, pids := start(t, procgroup.Config{Leftovers: procgroup.Keep}, role("leaver"))
	requireExit(t, 7, g.Wait())
	requireGone(t, pids[0])

	child, err := proctable.Lookup(pids[1])
	require.NoError(t, err, "it outlives the last handle on its job")
	require.NoError(t, proctable.Signal(child.ID(), syscall.SIGKILL))
	require.Eventually(t, func() bool {
		return errors.Is(proctable.Signal(child.ID(), syscall.SIGKILL), proctable.ErrNoProcess)
	}, gone, time.Millisecond)
}

func TestJobLifetime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := role("parent")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	g, err := procgroup.Start(ctx, cmd)
	require.NoError(t, err)
	pids := readPids(t, out)
	cancel()
	requireExit(t, 1, g.Wait())
	requireGone(t, pids...)

	g, err = procgroup.Start(t.Context(), role("exit"))
	require.NoError(t, err)
	requireExit(t, 3, g.Wait())
}

func TestJobEndsWithTheHost(t *testing.T) {
	host := role("host")
	out, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	pids := readPids(t, out)
	for _, pid := range pids {
		_, err := proctable.Lookup(pid)
		require.NoError(t, err)
	}
	require.NoError(t, host.Process.Kill())
	host.Wait()
	require.Eventually(t, func() bool {
		_, first := proctable.Lookup(pids[0])
		_, second := proctable.Lookup(pids[1])
		return errors.Is(first, proctable.ErrNoProcess) && errors.Is(second, proctable.ErrNoProcess)
	}, gone, time.Millisecond)
}

func TestJobCannotBeLeft(t *testing.T) {
	cmd := role("rebel")
	var out strings.Builder
	cmd.Stdout = &out
	g, err := procgroup.Start(t.Context(), cmd)
	require.NoError(t, err)
	require.NoError(t, g.Wait())
	require.Contains(t, out.String(), windows.ERROR_ACCESS_DENIED.Error())

	cmd = role("sleeper")
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_BREAKAWAY_FROM_JOB}
	_, err = procgroup.Start(t.Context(), cmd)
	var refused *procgroup.StartError
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, os.ErrInvalid)
	require.Equal(t, "SysProcAttr", refused.What)
	require.Nil(t, cmd.Process)
}

func TestJobLeavesSuspensionToTheCaller(t *testing.T) {
	cmd := role("exit")
	attr := &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED}
	cmd.SysProcAttr = attr
	g, err := procgroup.Start(t.Context(), cmd)
	require.NoError(t, err)
	require.Equal(t, uint32(windows.CREATE_SUSPENDED), attr.CreationFlags, "the caller's own is not changed")
	select {
	case <-g.Done():
		t.Error("it ran")
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(t, g.Kill())
	requireExit(t, 1, g.Wait())
}

func TestJobMembersInTheTable(t *testing.T) {
	cmd := role("parent")
	const token = "of-this-test"
	cmd.Env = proctable.WithToken(cmd.Environ(), token)
	_, pids := start(t, procgroup.Config{}, cmd)

	all, err := proctable.List()
	require.NoError(t, err)
	var below []int
	for _, p := range proctable.Descendants(all, os.Getpid()) {
		below = append(below, p.PID)
		requireCarrier(t, proctable.Yes, p, token)
		requireCarrier(t, proctable.No, p, "another")
		again, err := proctable.Lookup(p.PID)
		require.NoError(t, err)
		require.Equal(t, p, again)
	}
	require.Equal(t, pids[0], below[0], "parents before children")
	require.Subset(t, below, pids)

	self, err := proctable.Lookup(os.Getpid())
	require.NoError(t, err)
	requireCarrier(t, proctable.No, self, token)
	stranger := proctable.ID{PID: pids[1], Start: self.Start}
	require.ErrorIs(t, proctable.Signal(stranger, syscall.SIGKILL), proctable.ErrNoProcess)
}

func TestStartErrorOnWindows(t *testing.T) {
	dir, err := os.MkdirTemp("", "job")
	require.NoError(t, err)
	defer os.Remove(dir)
	text := filepath.Join(dir, "text.exe")
	require.NoError(t, os.WriteFile(text, []byte("#!/nowhere\nno program\n"), 0o644))
	defer os.Remove(text)

	_, err = procgroup.Start(t.Context(), exec.Command(text))
	var refused *procgroup.StartError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "program", refused.What)
	require.Equal(t, text, refused.Path)
	require.NotContains(t, err.Error(), "mode", "mode bits mean nothing here")

	_, err = procgroup.Start(t.Context(), exec.Command(filepath.Join(dir, "absent.exe")))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = procgroup.Start(t.Context(), exec.Command("surely-no-such-program"))
	require.ErrorIs(t, err, exec.ErrNotFound)
}

func requireCarrier(t *testing.T, want proctable.Carries, p proctable.Process, token string) {
	t.Helper()
	got, err := proctable.Carrier(p, token)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
