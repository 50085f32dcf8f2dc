package leakcheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// places are where test binaries run, each as a command that goes before theirs.
func places() map[string][]string {
	// The shell is pid 1 then. With it all ends that is in the namespace, so it waits until
	// the janitor is done.
	shell := []string{"sh", "-c", `"$0" "$@"; code=$?
		for i in $(seq 200); do set -- /proc/[0-9]*; [ $# = 1 ] && break; sleep 0.02; done; exit $code`}
	if os.Getuid() != 0 {
		return map[string][]string{
			"here":                    nil,
			"pid and user namespaces": append([]string{"unshare", "-Urpf", "--mount-proc"}, shell...),
		}
	}
	return map[string][]string{
		"root":          nil,
		"ordinary user": {"setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"},
		"pid namespace": append([]string{"unshare", "-pf", "--mount-proc"}, shell...),
		"pid 1":         {"unshare", "-pf", "--mount-proc"},
	}
}

// As pid 1 a test binary has the orphans of others for children, and cannot tell them
// from its own; nor can it tell whose the zombies are.
var saidByPid1 = strings.NewReplacer(
	"(child, or adopted: orphans come to this process)", "(child)",
	"(orphan: re-parented, carries the token of this process)", "(child)",
)

// The answers are the same for root, for anybody else, and in a namespace of pids.
func TestSameAnswersEverywhere(t *testing.T) {
	packages := []string{"doublefork", "exiter", "fixture", "forgetful", "orphan", "panicker", "parallel", "stopped", "wiped", "zombie"}
	dir, err := os.MkdirTemp("", "leakcheck") // that of t is not for every user
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o755))
	args := []string{"test", "-c", "-o", dir + "/"}
	for _, p := range packages {
		args = append(args, "./testdata/leaks/"+p, "./testdata/leaks/"+p+"_repaired")
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	require.NoError(t, err, string(out))
	binaries, err := filepath.Glob(dir + "/*")
	require.NoError(t, err)
	for _, path := range binaries {
		require.NoError(t, os.Chmod(path, 0o755)) // whatever the umask is
	}

	for place, prefix := range places() {
		t.Run(place, func(t *testing.T) {
			if len(prefix) > 0 {
				if out, err := exec.Command(prefix[0], append(prefix[1:len(prefix):len(prefix)], "true")...).CombinedOutput(); err != nil {
					t.Skipf("SKIPPED: %v: %s", err, out)
				}
			}
			answers := runAll(t, prefix, dir)
			for _, p := range packages {
				code, report := answers[p+".test"].code, answers[p+".test"].report
				switch want := goldenReport(t, "leaks/"+p); {
				case place == "pid 1" && p == "zombie":
				case place == "pid 1":
					require.NotZero(t, code, p)
					// The namespace, and all that is in it, ends with pid 1.
					if !strings.Contains(want, "is dead") {
						require.Equal(t, saidByPid1.Replace(want), saidByPid1.Replace(report), p)
					}
				default:
					require.NotZero(t, code, p)
					require.Equal(t, want, report, p)
				}
				twin := answers[p+"_repaired.test"]
				require.Zero(t, twin.code, "%s: %s", p, twin.output)
				require.Empty(t, twin.report, p)
			}
		})
	}
}

type answer struct {
	code           int
	output, report string
}

// runAll runs all test binaries of a directory beside each other.
func runAll(t *testing.T, prefix []string, dir string) map[string]answer {
	t.Helper()
	binaries, err := os.ReadDir(dir)
	require.NoError(t, err)
	answers := make(map[string]answer)
	var mu sync.Mutex
	var runs sync.WaitGroup
	for _, b := range binaries {
		args := append(prefix[:len(prefix):len(prefix)], filepath.Join(dir, b.Name()), "-test.parallel=4", "-test.timeout=60s")
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = "/"
		cmd.WaitDelay = 20 * time.Second
		runs.Go(func() {
			out, _ := cmd.CombinedOutput() // the code tells
			mu.Lock()
			defer mu.Unlock()
			answers[b.Name()] = answer{cmd.ProcessState.ExitCode(), string(out), anonymous(reportIn(string(out)))}
		})
	}
	runs.Wait()
	return answers
}
