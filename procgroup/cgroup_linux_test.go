package procgroup_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/guardian"
	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// cgroupHere returns the control group of this process, if it may have children.
func cgroupHere(t *testing.T) string {
	t.Helper()
	g, err := procgroup.Config{Cgroup: procgroup.CgroupRequire}.Start(t.Context(), exec.Command("sleep", "60"))
	if err != nil {
		t.Skip("SKIPPED: no control group can be made with the rights of this process: ", err)
	}
	defer g.Kill()
	dir := cgroupOf(t, g.Pid())
	require.Equal(t, procgroup.MechanismCgroup, g.Containment().Mechanism)
	require.Equal(t, procgroup.ReachAnyUser, g.Containment().Reach)
	return filepath.Dir(dir)
}

// cgroupOf returns the directory of the control group of a process.
func cgroupOf(t *testing.T, pid int) string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for _, mount := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
				if _, err := os.Stat(mount + path + "/cgroup.procs"); err == nil {
					return mount + path
				}
			}
		}
	}
	t.Fatalf("no cgroup v2 in %q", raw)
	return ""
}

// made lists what guardians have made in a control group.
func made(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, guardian.CgroupPrefix+"*"))
	require.NoError(t, err)
	return found
}

func TestCgroupComesAndGoes(t *testing.T) {
	parent := cgroupHere(t)
	g, w := start(t, procgroup.Config{Cgroup: procgroup.CgroupRequire}, servers.Command("clan"), "clan", "stubborn-sleeper", "stubborn-sleeper", "stubborn-sleeper")
	dir := cgroupOf(t, g.Pid())
	for _, s := range w.Alive() {
		require.Equal(t, dir, cgroupOf(t, s.PID), "all members are in it")
	}
	require.NotEqual(t, dir, cgroupOf(t, guardianOf(t, g).PID), "the guardian is not: it must survive the kill")
	require.NoError(t, g.Kill())
	w.Gone(t)
	require.NoDirExists(t, dir)

	// A server that makes groups of its own leaves them to us.
	g, w = start(t, procgroup.Config{Cgroup: procgroup.CgroupRequire}, servers.Command("sleeper"), "sleeper")
	dir = cgroupOf(t, g.Pid())
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "inner", "most"), 0o755))
	require.NoError(t, g.Stop(t.Context()))
	w.Gone(t)
	require.NoDirExists(t, dir)
	require.DirExists(t, parent)
}

// With Keep, too, a group in which nobody is left goes.
func TestCgroupOfAKeptTree(t *testing.T) {
	parent := cgroupHere(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("sh", "-c", "read line; exit 3")
	cmd.Stdin = r
	g, err := procgroup.Config{Leftovers: procgroup.Keep}.Start(t.Context(), cmd)
	require.NoError(t, err)
	r.Close()
	dir := cgroupOf(t, g.Pid())
	require.NotEqual(t, parent, dir)
	w.Close()
	require.ErrorContains(t, g.Wait(), "exit status 3")
	require.NoDirExists(t, dir)
}

// A program that is missing is to blame, and not the control group.
func TestMissingProgramInACgroup(t *testing.T) {
	cgroupHere(t)
	_, err := procgroup.Config{Cgroup: procgroup.CgroupRequire}.Start(t.Context(), exec.Command("/no/such/program"))
	var start *procgroup.StartError
	require.ErrorAs(t, err, &start)
	require.Equal(t, "program", start.What)
}

func TestCgroupOff(t *testing.T) {
	g, err := procgroup.Config{Cgroup: procgroup.CgroupOff}.Start(t.Context(), exec.Command("sleep", "60"))
	require.NoError(t, err)
	require.Equal(t, procgroup.MechanismGuardian, g.Containment().Mechanism)
	own, err := os.ReadFile("/proc/self/cgroup") // wherever that is mounted, if it is
	require.NoError(t, err)
	theirs, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", g.Pid()))
	require.NoError(t, err)
	require.Equal(t, string(own), string(theirs))
	require.NoError(t, g.Kill())
}

// Neither a guardian that is killed nor a guardian and a host that are killed
// together leave a directory for longer than until the next start.
func TestCgroupAfterACrash(t *testing.T) {
	parent := cgroupHere(t)
	g, w := start(t, procgroup.Config{}, servers.Command("clan"), "clan", "stubborn-sleeper", "stubborn-sleeper", "stubborn-sleeper")
	dir := cgroupOf(t, g.Pid())
	require.NoError(t, proctable.Signal(guardianOf(t, g).ID(), syscall.SIGKILL))
	require.Error(t, g.Wait())
	w.Gone(t)
	require.NoDirExists(t, dir)

	stale := filepath.Join(parent, guardian.CgroupPrefix+"999999999-stale")
	require.NoError(t, os.Mkdir(stale, 0o755))
	host := hostCommand("Kill")
	in, out := pipes(t, host)
	require.NoError(t, host.Start())
	line, err := out.ReadString('\n') // it has started something
	require.NoError(t, err)
	require.NoDirExists(t, stale)
	leader, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	dir = cgroupOf(t, leader)
	require.NotEqual(t, parent, dir)
	io.WriteString(in, "\n")
	_, err = out.ReadString('\n')
	require.NoError(t, err)
	require.NoDirExists(t, dir)
	in.Close()
	require.NoError(t, host.Wait())
}

func pipes(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, *bufio.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	return in, bufio.NewReader(out)
}

// A limit is enforced, or Start fails and says which one and why.
func TestLimits(t *testing.T) {
	for name, c := range map[string]procgroup.Config{
		"pids":   {MaxProcesses: 8},
		"memory": {MaxMemory: 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := c.Start(t.Context(), exec.Command("sleep", "60"))
			if err != nil {
				var start *procgroup.StartError
				require.ErrorAs(t, err, &start)
				require.Contains(t, []string{"Config.MaxProcesses", "Config.MaxMemory"}, start.What)
				return
			}
			file, want := "pids.max", "8"
			if c.MaxMemory > 0 {
				file, want = "memory.max", "67108864"
			}
			raw, err := os.ReadFile(filepath.Join(cgroupOf(t, g.Pid()), file))
			require.NoError(t, err)
			require.Equal(t, want, strings.TrimSpace(string(raw)))
			require.NoError(t, g.Kill())
		})
	}
	for name, c := range map[string]procgroup.Config{
		"negative memory": {MaxMemory: -1}, "negative pids": {MaxProcesses: -1}, "odd mode": {Cgroup: 9},
		"limit without a group": {MaxProcesses: 1, Cgroup: procgroup.CgroupOff}, "group without a guardian": {Cgroup: procgroup.CgroupRequire, NoGuardian: true},
	} {
		_, err := c.Start(t.Context(), exec.Command("sleep", "60"))
		var start *procgroup.StartError
		require.ErrorAs(t, err, &start, name)
		require.ErrorIs(t, err, os.ErrInvalid, name)
	}
}

// An ordinary user may make groups below one that was delegated to him, and
// nowhere else: there he goes without, or Start fails if he insists.
func TestCgroupOfAnOrdinaryUser(t *testing.T) {
	const uid = 54322
	needsUsers(t, uid) // only root can delegate a control group
	delegated := filepath.Join(cgroupHere(t), "delegated-"+strings.ToLower(t.Name()))
	require.NoError(t, os.Mkdir(delegated, 0o755))
	defer os.Remove(delegated)
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		require.NoError(t, os.Chown(filepath.Join(delegated, name), uid, uid))
	}
	for where, script := range map[string]string{
		"inside":  "echo $$ >" + delegated + `/cgroup.procs && exec setpriv --reuid=54322 --regid=54322 --clear-groups "$0"`,
		"outside": `exec setpriv --reuid=54322 --regid=54322 --clear-groups "$0"`,
	} {
		t.Run(where, func(t *testing.T) {
			host := exec.Command("sh", "-c", script, readableSelf(t))
			host.Env = hostCommand("containment").Env
			out, err := host.CombinedOutput()
			require.NoError(t, err, "%s", out)
			if where == "inside" {
				require.Contains(t, string(out), "auto: cgroup:")
				require.Contains(t, string(out), "require: cgroup:")
			} else {
				require.Contains(t, string(out), "auto: guardian:")
				require.Contains(t, string(out), "permission denied")
				require.Contains(t, string(out), `require: procgroup: Config.Cgroup`)
			}
			require.Empty(t, made(t, delegated))
		})
	}
}

// readableSelf is a copy of this test binary that every user may run.
func readableSelf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "procgroup")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "host")
	copySelf(t, path)
	return path
}
