//go:build unix

package leakcheck_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// recorder stands for the *testing.T of a test that leaks.
type recorder struct {
	report   []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(f string, args ...any) {
	r.report = append(r.report, fmt.Sprintf(f, args...))
}

// finish runs the cleanups as package testing does, and returns the report.
func (r *recorder) finish() string {
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		last()
	}
	return strings.Join(r.report, "\n")
}

// leaks are started and forgotten by their test.
var leaks = map[string]struct {
	command func() *exec.Cmd
	members []string
	reaped  bool // its leader has ended and was waited for
	says    []string
}{
	"child": {func() *exec.Cmd { return servers.Command("sleeper") }, []string{"sleeper"}, false, []string{"(child)"}},
	"grandchild": {func() *exec.Cmd { return servers.Shell("sh", "run sleeper; true") }, []string{"sleeper"}, false,
		[]string{"(child)", "(descendant)"}},
	"orphan": {func() *exec.Cmd { return servers.Shell("sh", "run sleeper </dev/null >/dev/null 2>&1 & exit 0") }, []string{"sleeper"}, true,
		[]string{"(orphan"}},
	"session and daemon of its own": {func() *exec.Cmd { return servers.Command("escapist") }, []string{"stubborn-sleeper", "stubborn-sleeper"}, true,
		[]string{"(orphan"}},
}

func TestVerifyNoneFindsReportsAndKills(t *testing.T) {
	for name, leak := range leaks {
		t.Run(name, func(t *testing.T) {
			w := servers.NewWitness(t)
			var fake recorder
			leakcheck.VerifyNone(&fake, leakcheck.Within(soon))
			cmd := w.Watch(leak.command())
			require.NoError(t, cmd.Start())
			w.Await(t, leak.members...)
			if leak.reaped {
				require.NoError(t, cmd.Wait())
			} else {
				defer cmd.Wait()
			}
			report := fake.finish()
			for _, want := range leak.says {
				require.Contains(t, report, want)
			}
			w.Gone(t)
			require.Empty(t, repeat(leakcheck.Within(0)), "a leak is charged once")
		})
	}
}

// repeat checks once more, as the next test would.
func repeat(opts ...leakcheck.Option) string {
	var next recorder
	leakcheck.VerifyNone(&next, opts...)
	return next.finish()
}

func TestZombieThatNobodyWaitsFor(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	var leak *leakcheck.LeakError
	require.ErrorAs(t, leakcheck.Find(leakcheck.Within(soon)), &leak)
	require.Len(t, leak.Leaks, 1)
	require.Equal(t, cmd.Process.Pid, leak.Leaks[0].PID)
	require.Contains(t, leak.Error(), "zombie: started here, never waited for")
	require.NoError(t, cmd.Wait())
	require.NoError(t, leakcheck.Find())
}

// A process that is on its way out is no leak; Find returns when it is gone and
// not when the time is over.
func TestFindSettles(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("cat")
	cmd.Stdin = r
	require.NoError(t, cmd.Start())
	r.Close()
	go cmd.Wait()
	time.AfterFunc(50*time.Millisecond, func() { w.Close() })
	require.NoError(t, leakcheck.Find(leakcheck.Within(time.Hour)))
}

func TestOptions(t *testing.T) {
	w := servers.NewWitness(t)
	cmd := w.Watch(servers.Command("sleeper"))
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	w.Await(t, "sleeper")

	for name, opt := range map[string]leakcheck.Option{
		"IgnoreCurrent": leakcheck.IgnoreCurrent(),
		"IgnorePID":     leakcheck.IgnorePID(cmd.Process.Pid),
		"IgnoreCommand": leakcheck.IgnoreCommand("leakcheck.test"),
	} {
		require.NoError(t, leakcheck.Find(opt, leakcheck.Within(0)), name)
	}
	require.Error(t, leakcheck.Find(leakcheck.IgnoreCommand("leakcheck"), leakcheck.Within(0)), "the whole name")
	require.Error(t, leakcheck.Find(leakcheck.IgnorePID(os.Getpid()), leakcheck.Within(0)))

	require.Contains(t, repeat(leakcheck.KeepAlive(), leakcheck.Within(0)), "(child)")
	w.Left(t, "sleeper")
}

// A process of somebody else is none of this test's business.
func TestStrangersAreNotFound(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")
	cmd.Env = append(os.Environ(), proctable.TokenVar+"=somebody-else")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, leakcheck.Find(leakcheck.Within(0)))
	var pid int
	_, err = fmt.Sscan(string(out), &pid)
	require.NoError(t, err)
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, p.Kill())
}

func TestTokenReachesChildrenWithAnEnvironmentOfTheirOwn(t *testing.T) {
	out, err := exec.Command("sh", "-c", "echo $"+proctable.TokenVar).Output()
	require.NoError(t, err)
	require.Equal(t, os.Getenv(proctable.TokenVar)+"\n", string(out))
}
