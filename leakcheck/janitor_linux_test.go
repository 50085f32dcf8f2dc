package leakcheck_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/guardian"
	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// deathVar makes this test binary one that starts a sleeper, and a stubborn one with
// somebody else's token, and ends in the way that the variable names when its stdin does.
const deathVar = "LEAKCHECK_TEST_DEATH"

func init() { deaths = dieIfToldTo }

func dieIfToldTo() {
	how := os.Getenv(deathVar)
	if how == "" {
		return
	}
	if how == "helper" { // of a test binary
		os.Setenv(deathVar, "exit")
		exit(exec.Command("/proc/self/exe"))
	}
	var test recorder
	leakcheck.VerifyNone(&test, checks[how]...)
	switch how {
	case "all closed":
		closeAll()
	case "janitor killed":
		killJanitor()
	}
	mine, other := servers.Command("sleeper"), servers.Command("stubborn-sleeper")
	other.Env = append(other.Env, proctable.TokenVar+"=somebody-else")
	for _, cmd := range []*exec.Cmd{mine, other} {
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	fmt.Println("started")
	io.Copy(io.Discard, os.Stdin)
	switch how {
	case "panic":
		panic("in the main goroutine")
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "verified":
		mine.Process.Kill()
		other.Process.Kill()
		mine.Wait()
		other.Wait()
		leakcheck.VerifyTestMain(suite(0))
	case "kept alive", "ignored":
		test.finish()
	case "ended":
		mine.Process.Kill()
		mine.Wait()
	}
	os.Exit(0)
}

var checks = map[string][]leakcheck.Option{
	"kept alive": {leakcheck.KeepAlive(), leakcheck.Within(0)},
	"ignored":    {leakcheck.IgnoreCommand("leakcheck.test"), leakcheck.IgnoreCommand("exe"), leakcheck.Within(0)},
}

func exit(cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// killJanitor makes a zombie of the janitor. It is no leak even so.
func killJanitor() {
	all, err := proctable.List()
	if err != nil {
		panic(err)
	}
	for _, p := range all {
		if p.PPID == os.Getpid() {
			for err == nil && p.Alive() {
				proctable.Signal(p.ID(), syscall.SIGKILL)
				p, err = proctable.Lookup(p.PID)
			}
		}
	}
	if err := leakcheck.Find(leakcheck.Within(0)); err != nil {
		panic(err)
	}
}

func closeAll() {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		fd, _ := strconv.Atoi(name.Name())
		if target, _ := os.Readlink("/proc/self/fd/" + name.Name()); fd > 2 && strings.HasPrefix(target, "socket:") {
			syscall.Close(fd)
		}
	}
}

// A test binary that dies in the middle of a test leaves nobody who carries its
// token, and harms nobody else; what it was told to leave alone lives on.
func TestDeathInMidTest(t *testing.T) {
	const dead = "is dead and has left behind, killed now:"
	for how, c := range map[string]struct {
		left []string
		says string // "": nothing
	}{
		"exit":           {[]string{"stubborn-sleeper"}, dead},
		"panic":          {[]string{"stubborn-sleeper"}, dead},
		"kill":           {[]string{"stubborn-sleeper"}, dead},
		"all closed":     {[]string{"stubborn-sleeper"}, dead},
		"ended":          {[]string{"stubborn-sleeper"}, ""},
		"verified":       {nil, ""},
		"kept alive":     {[]string{"sleeper", "stubborn-sleeper"}, ""},
		"ignored":        {[]string{"sleeper", "stubborn-sleeper"}, ""},
		"janitor killed": {[]string{"sleeper", "stubborn-sleeper"}, ""},
		"helper":         {[]string{"sleeper", "stubborn-sleeper"}, ""},
	} {
		t.Run(how, func(t *testing.T) {
			w := servers.NewWitness(t)
			// By its file, whose name the token has, or by the link, which is no test binary.
			cmd := w.Watch(exec.Command(executable(t)))
			cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, proctable.TokenVar+"=") })
			cmd.Env = append(cmd.Env, deathVar+"="+how, "GORACE=atexit_sleep_ms=0")
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr // until the janitor, too, has closed it
			require.NoError(t, cmd.Start())
			living := w.Await(t, "sleeper", "stubborn-sleeper")
			if how == "all closed" || how == "exit" { // its janitor waits, and is no leak
				require.Len(t, janitorsOf(t, cmd.Process.Pid), 1)
				require.NotContains(t, fmt.Sprint(leakcheck.Find(leakcheck.Within(0))), "stdioguard-janitor")
			}
			if how == "all closed" { // one that takes the end of file for the host's would act now
				require.Never(t, func() bool { return len(janitorsOf(t, cmd.Process.Pid)) == 0 || len(w.Alive()) < 2 },
					200*time.Millisecond, 10*time.Millisecond)
			}
			require.NoError(t, stdin.Close())
			cmd.Wait() // most of them end badly
			w.Left(t, c.left...)
			report := reportIn(stderr.String())
			if c.says == "" {
				require.Empty(t, report)
			} else {
				require.Contains(t, report, c.says)
				require.Contains(t, report, fmt.Sprintf("pid %d ", living[0].PID))
				require.NotContains(t, report, fmt.Sprintf("pid %d ", living[1].PID))
			}
			require.Eventually(t, func() bool { return len(janitorsOf(t, cmd.Process.Pid)) == 0 }, 20*time.Second, time.Millisecond)
		})
	}
}

// janitorsOf returns those who wait for the death of a process.
func janitorsOf(t *testing.T, host int) (pids []int) {
	t.Helper()
	all, err := proctable.List()
	require.NoError(t, err)
	for _, p := range all {
		environ, _, err := proctable.Environment(p)
		require.NoError(t, err)
		if value, found := proctable.Getenv(environ, guardian.JanitorVar); found {
			fields := strings.Fields(value)
			if len(fields) == 3 && fields[1] == strconv.Itoa(host) {
				pids = append(pids, p.PID)
			}
		}
	}
	return pids
}

// The janitor of this test binary is one, and holds nothing of it but stderr.
func TestJanitorHoldsNothing(t *testing.T) {
	leakcheck.VerifyNone(t)
	pids := janitorsOf(t, os.Getpid())
	require.Len(t, pids, 1)
	dir := "/proc/" + strconv.Itoa(pids[0])
	var open []string
	require.Eventually(t, func() bool { // when it has let go of what it was started with
		open = descriptorsOf(dir)
		return len(open) == 3
	}, 20*time.Second, time.Millisecond, "/dev/null twice, and the socket: %v", open)
	cwd, err := os.Readlink(dir + "/cwd")
	require.NoError(t, err)
	require.Equal(t, "/", cwd)
}

// descriptorsOf lists what a janitor has open, but for its stderr, what it looks after
// its host with, and what Go itself reads.
func descriptorsOf(dir string) (open []string) {
	fds, _ := os.ReadDir(dir + "/fd")
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		ours := strings.Contains(target, "pidfd") || strings.HasPrefix(target, "/sys/fs/cgroup/")
		if err == nil && fd.Name() != "2" && !ours {
			open = append(open, target)
		}
	}
	return open
}

// A process that has the variable without being meant goes on as usual, unless it is
// a child of the process that the variable names: such a one would run all tests again.
func TestJanitorThatIsNotMeant(t *testing.T) {
	for value, want := range map[string]int{
		"": 3, "nonsense": 3, "3 1 token": 3, "99 1 token": 3, // other parents
		"3 " + strconv.Itoa(os.Getpid()) + " token": 1,
	} {
		cmd := exec.Command(executable(t))
		cmd.Env = append(cmd.Environ(), guardian.JanitorVar+"="+value)
		null, err := os.Open(os.DevNull)
		require.NoError(t, err)
		cmd.ExtraFiles = []*os.File{null}
		code, stderr := runSuite(t, cmd, 3)
		require.Equal(t, want, code, "%q: %s", value, stderr)
		require.NoError(t, null.Close())
	}
}
