package leakcheck_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// runSuite runs this test binary as a suite and returns its exit code and stderr.
func runSuite(t *testing.T, cmd *exec.Cmd, code int) (int, string) {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.Env = append(cmd.Environ(), suiteVar+"="+strconv.Itoa(code), "GORACE=atexit_sleep_ms=0")
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

func TestVerifyTestMainKeepsOrMakesTheExitCode(t *testing.T) {
	for _, c := range []struct {
		code, want int
		leaks      bool
	}{{0, 0, false}, {0, 1, true}, {3, 3, false}, {3, 3, true}} {
		w := servers.NewWitness(t)
		var args []string
		if c.leaks {
			args = append(args, "leak")
		}
		code, stderr := runSuite(t, w.Watch(exec.Command("/proc/self/exe", args...)), c.code)
		require.Equal(t, c.want, code, "%+v", c)
		if c.leaks {
			require.Contains(t, stderr, "leakcheck: 1 process was left behind:\n    pid ")
			require.Contains(t, stderr, "(child)")
			require.True(t, strings.HasSuffix(stderr, "\n"))
		} else {
			require.Empty(t, stderr)
		}
		w.Gone(t)
	}
}

// A check that cannot look does not pass: no table, the table of other numbers, and
// one in which other users' processes are hidden.
func TestVerifyTestMainFailsWhereItCannotLook(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: needs root, to change what is mounted at /proc")
	}
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	const run, asUser = `exec "$0"`, `exec setpriv --reuid=54321 --regid=54321 --clear-groups "$0"`
	for name, c := range map[string]struct{ flags, script, says string }{
		"no table":               {"-m", `mount -t tmpfs none /proc && ` + run, "/proc/self"},
		"table of other numbers": {"-mpf", run, "/proc"},
		"hidden users":           {"-m", `mount -t proc -o hidepid=2 proc /proc && ` + asUser, "hidepid"},
		"others' files":          {"-m", `mount -t proc -o hidepid=1 proc /proc && ` + asUser, "not permitted"},
		"shut":                   {"-m", `mount -t tmpfs -o mode=700 none /proc && ` + asUser, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := exec.Command("unshare", c.flags, "sh", "-c", c.script, "true").CombinedOutput(); err != nil {
				t.Skipf("SKIPPED: nothing can be mounted here, or nobody be made another user: %v: %s", err, out)
			}
			// By a descriptor, since the paths to it are not for every user.
			cmd := exec.Command("unshare", c.flags, "sh", "-c", c.script, "/proc/self/fd/3")
			if name == "no table" || name == "shut" {
				cmd.Args[len(cmd.Args)-1] = executable(t)
			}
			cmd.ExtraFiles = []*os.File{self}
			code, stderr := runSuite(t, cmd, 0)
			require.Equal(t, 1, code, stderr)
			require.Contains(t, stderr, "leakcheck: cannot look: process table cannot be read")
			require.Contains(t, stderr, c.says)
		})
	}
}

// Nor does one that has no descriptor left to look with.
func TestFindFailsWithoutADescriptor(t *testing.T) {
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 0
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	err := leakcheck.Find()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.ErrorIs(t, err, proctable.ErrIncomplete)
	require.ErrorIs(t, err, syscall.EMFILE)
	require.ErrorContains(t, err, "leakcheck: cannot look: ")
	require.NoError(t, leakcheck.Find())
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}
