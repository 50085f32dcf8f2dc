package leakcheck_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A process inside execve has no environment: who does not look again takes it for a
// stranger's. A few of these rounds meet one.
func TestFindLooksAgainAtAProcessInsideExec(t *testing.T) {
	for round := range 300 {
		require.NoError(t, exec.Command("sh", "-c", "sleep 20 & exit 0").Run())
		err := leakcheck.Find(leakcheck.Within(0))
		var leak *leakcheck.LeakError
		require.ErrorAs(t, err, &leak, "round %d", round)
		for _, l := range leak.Leaks {
			end(t, l.PID)
		}
	}
	require.NoError(t, leakcheck.Find())
}

// end kills a process and waits until it is gone, or somebody's zombie.
func end(t *testing.T, pid int) {
	t.Helper()
	p, err := proctable.Lookup(pid)
	if err == nil {
		err = proctable.Signal(p.ID(), syscall.SIGKILL)
	}
	if !errors.Is(err, proctable.ErrNoProcess) {
		require.NoError(t, err)
	}
}

// startInFull starts a command and returns when its execve is done: in the middle of it a
// process has neither environment nor arguments.
func startInFull(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	for {
		p, err := proctable.Lookup(cmd.Process.Pid)
		if err != nil {
			return err
		}
		if _, shown, err := proctable.Environment(p); shown != proctable.Unsure {
			return err
		}
	}
}

// What was found has children by the time that it is killed: looking once is not
// enough. This one makes some two hundred, one in a millisecond; each ends by itself.
func TestKillIsRepeatedUntilQuiet(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("SKIPPED: no perl to fork fast enough")
	}
	const script = `use POSIX; $| = 1; print "raging\n"; close STDOUT;
		for (1..200) { if (!fork) { POSIX::setsid(); sleep 20; exit } select undef, undef, undef, 0.001 } sleep 20`
	for range 3 {
		cmd := exec.Command("perl", "-e", script)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, repeat(leakcheck.Within(0)), "(child)")
		cmd.Wait()
		require.NoError(t, leakcheck.Find(leakcheck.Within(0)), "somebody lives on")
	}
}

// A process whose main thread has ended looks like a zombie, and nobody waits for
// somebody else's zombie.
func TestProcessWithoutItsMainThreadIsFound(t *testing.T) {
	w := servers.NewWitness(t)
	cmd := w.Watch(servers.Shell("sh", "run headless </dev/null >/dev/null 2>&1 & exit 0"))
	require.NoError(t, cmd.Run())
	pid := w.Await(t, "headless")[0].PID
	var leak *leakcheck.LeakError
	require.ErrorAs(t, leakcheck.Find(leakcheck.Within(0)), &leak)
	var pids []int
	for _, l := range leak.Leaks {
		pids = append(pids, l.PID)
	}
	require.Contains(t, pids, pid)
	require.Contains(t, repeat(leakcheck.Within(0)), "(orphan")
	w.Gone(t)
}

// Who has lost his parent and has no environment is found by the company that he is in.
func TestSessionAndGroupThatWereStartedHere(t *testing.T) {
	for name, attr := range map[string]*syscall.SysProcAttr{"session": {Setsid: true}, "group": {Setpgid: true}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", `(env -i sleep 61 >/dev/null 2>&1 &); echo orphaned; exec sleep 60`)
			cmd.SysProcAttr = attr
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Eventually(t, func() bool { // until env has become sleep
				err := leakcheck.Find(leakcheck.Within(0))
				return err != nil && strings.Contains(err.Error(), "(same "+name) && strings.Contains(err.Error(), `"sleep" "61"`)
			}, 20*time.Second, 5*time.Millisecond)
			report := repeat(leakcheck.Within(0))
			require.Contains(t, report, "leakcheck: 2 processes were left behind:")
			require.ErrorContains(t, cmd.Wait(), "killed")
			require.NoError(t, leakcheck.Find())
		})
	}
}

// That is so as well where the session of this process, or even its group, was begun outside
// its namespace of PIDs. So it is in many containers.
func TestSessionAndGroupInANamespace(t *testing.T) {
	for name, script := range map[string]string{
		"session outside":           `set -m; "$0" "$@" </dev/null`,
		"session and group outside": `"$0" "$@"; exit $?`,
	} {
		t.Run(name, func(t *testing.T) {
			flags := "-pf"
			if os.Getuid() != 0 {
				flags = "-Urpf"
			}
			if out, err := exec.Command("unshare", flags, "--mount-proc", "bash", "-c", "true").CombinedOutput(); err != nil {
				t.Skipf("SKIPPED: no pid namespace to be had, or no bash: %v: %s", err, out)
			}
			out, err := exec.Command("unshare", flags, "--mount-proc", "bash", "-c", script,
				executable(t), "-test.run=^TestSessionAndGroupThatWereStartedHere$", "-test.v").CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), "--- PASS: TestSessionAndGroupThatWereStartedHere/session")
		})
	}
}

// To a subreaper orphans come as children. Zombies that come to it are not its fault.
func TestSubreaper(t *testing.T) {
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	out, err := exec.Command("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!").Output()
	require.NoError(t, err)
	var pid int
	_, err = fmt.Sscan(string(out), &pid)
	require.NoError(t, err)
	defer unix.Wait4(pid, nil, 0, nil) // it is ours now
	require.Contains(t, repeat(leakcheck.Within(0)), "(child, or adopted: orphans come to this process)")
	require.Empty(t, repeat())
}

// A check of a test that runs alone leaves what a parent has marked, and takes what
// nobody has.
func TestChecksOfASubtestAndOfItsParent(t *testing.T) {
	start := func(t leakcheck.TestingT, seconds string) *exec.Cmd {
		cmd := exec.Command("sleep", seconds)
		if t != nil {
			leakcheck.Mark(t, cmd)
		}
		if err := startInFull(cmd); err != nil {
			panic(err)
		}
		return cmd
	}
	parent, sub := &named{name: "TestParent"}, &named{name: "TestParent/sub"}
	leakcheck.VerifyNone(parent, leakcheck.Within(0))
	fixture := start(parent, "60")
	defer fixture.Wait()
	leakcheck.VerifyNone(sub, leakcheck.Within(0))
	own, unmarked := start(sub, "61"), start(nil, "62")
	defer own.Wait()
	defer unmarked.Wait()
	report := sub.finish()
	require.Contains(t, report, `(child, marked by TestParent/sub)  "sleep" "61"`)
	require.Contains(t, report, `(child)  "sleep" "62"`)
	require.NotContains(t, report, `"60"`)
	require.Contains(t, parent.finish(), `leakcheck: 1 process was left behind:`)
	require.Contains(t, parent.report[0], `(child, marked by TestParent)  "sleep" "60"`)
}

type named struct {
	recorder
	name string
}

func (n *named) Name() string { return n.name }
