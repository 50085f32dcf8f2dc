package procgroup_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// guardianOf returns the process between this one and the server.
func guardianOf(t *testing.T, g *procgroup.Group) proctable.Process {
	t.Helper()
	server, err := proctable.Lookup(g.Pid())
	require.NoError(t, err)
	require.NotEqual(t, os.Getpid(), server.PPID, "no guardian")
	guardian, err := proctable.Lookup(server.PPID)
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), guardian.PPID)
	return guardian
}

// What the server sees is what it would see without a guardian: its descriptors,
// signals, session and environment.
func TestServerSeesNoGuardian(t *testing.T) {
	const look = `
		for f in /proc/$$/fd/*; do [ -e $f ] && printf '%s ' ${f##*/}; done; echo
		env | sort | grep -vE '^(_|PWD|SHLVL|STDIOGUARD_TOKEN)='
		cut -d' ' -f 5,6 /proc/$$/stat | tr ' ' '\n' | sed "s/^$$\$/self/"
		cat <&3; pwd; ulimit -n`
	see := func(c procgroup.Config) string {
		extra, w, err := os.Pipe()
		require.NoError(t, err)
		io.WriteString(w, "through descriptor 3\n")
		w.Close()
		defer extra.Close()
		cmd := exec.Command("sh", "-c", look)
		cmd.ExtraFiles = []*os.File{extra}
		cmd.Dir = "/"
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		path, args, files := cmd.Path, len(cmd.Args), len(cmd.ExtraFiles)
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		require.Equal(t, []any{path, args, files}, []any{cmd.Path, len(cmd.Args), len(cmd.ExtraFiles)}, "the caller's fields")
		require.NoError(t, g.Wait())
		require.Empty(t, errs.String())
		return out.String()
	}
	// Without a guardian the server also gets what this process has inherited.
	_, direct, _ := strings.Cut(see(procgroup.Config{NoGuardian: true}), "\n")
	descriptors, guarded, _ := strings.Cut(see(procgroup.Config{}), "\n")
	require.Equal(t, "0 1 2 3 ", descriptors)
	require.Equal(t, direct, guarded)
	require.Contains(t, guarded, "self\nself\n")
	require.NotContains(t, guarded, "GUARDIAN")

	// A shell plays with its signals: ask a program that does not.
	cmd := exec.Command("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")
	var out strings.Builder
	cmd.Stdout = &out
	g, err := procgroup.Start(t.Context(), cmd)
	require.NoError(t, err)
	require.NoError(t, g.Wait())
	require.Equal(t, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n", out.String())
}

// The host's end of the server's stdin in another hand withholds end of file, and
// the host's end of the guardian's socket would, too.
func TestHostDiesWhileAnotherHoldsItsDescriptors(t *testing.T) {
	w := servers.NewWitness(t)
	cmd := w.Watch(hostCommand("leak"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	w.Await(t, "clan", "sleeper")
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	require.Eventually(t, func() bool { return len(w.Alive()) == 1 }, 10*time.Second, time.Millisecond)
	w.Left(t, "sleeper") // the one who holds them, and no part of the tree
}

// PDEATHSIG strikes when the starting thread ends. The guardian starts from its
// own, and the host from any.
func TestStartingThreadMayEnd(t *testing.T) {
	started := make(chan *procgroup.Group)
	w := servers.NewWitness(t)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		g, err := procgroup.Start(context.Background(), w.Watch(servers.Command("stubborn-sleeper")))
		require.NoError(t, err)
		started <- g
	}()
	g := <-started
	w.Await(t, "stubborn-sleeper")
	for range 20 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
		}()
		<-done
	}
	require.False(t, w.Emptied(100*time.Millisecond))
	require.NoError(t, g.Kill())
	w.Gone(t)
}

func TestGuardianThatIsKilled(t *testing.T) {
	g, w := start(t, procgroup.Config{}, servers.Command("clan"), "clan", "stubborn-sleeper", "stubborn-sleeper", "stubborn-sleeper")
	require.NoError(t, proctable.Signal(guardianOf(t, g).ID(), syscall.SIGKILL))
	err := g.Wait()
	require.ErrorContains(t, err, "guardian was killed")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	w.Gone(t)
	require.NoError(t, g.Stop(t.Context()))
}

func TestGuardianThatIsStopped(t *testing.T) {
	g, w := start(t, procgroup.Config{}, servers.Command("clan"), "clan", "stubborn-sleeper", "stubborn-sleeper", "stubborn-sleeper")
	guardian := guardianOf(t, g)
	require.NoError(t, proctable.Signal(guardian.ID(), syscall.SIGSTOP))
	require.NoError(t, g.Kill())
	w.Gone(t)
	_, err := proctable.Lookup(guardian.PID)
	require.ErrorIs(t, err, proctable.ErrNoProcess)
}

func TestGuardianLeavesWithItsServer(t *testing.T) {
	for _, script := range []string{"exit 0", "exit 3", "kill -KILL $$", "kill -SEGV $$", "sleep 60 & exit 0"} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		cmd := exec.Command("sh", "-c", "read line; "+script)
		cmd.Stdin = r
		g, err := procgroup.Start(t.Context(), cmd)
		require.NoError(t, err)
		r.Close()
		guardian := guardianOf(t, g)
		w.Close()
		g.Wait()
		_, err = proctable.Lookup(guardian.PID)
		require.ErrorIs(t, err, proctable.ErrNoProcess, script)
	}
}

func TestGuardianIgnoresWhatIsNotForIt(t *testing.T) {
	g, w := start(t, procgroup.Config{}, servers.Command("sleeper"), "sleeper")
	guardian := guardianOf(t, g)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2} {
		require.NoError(t, proctable.Signal(guardian.ID(), sig))
	}
	require.False(t, w.Emptied(50*time.Millisecond))
	require.Equal(t, guardian.ID(), guardianOf(t, g).ID())
	require.NoError(t, g.Kill())
}

// A guardian at rest uses no processor time.
func TestIdleGuardianCostsNothing(t *testing.T) {
	g, w := start(t, procgroup.Config{}, servers.Command("sleeper"), "sleeper")
	pid := guardianOf(t, g).PID
	before := cpuTicks(t, pid)
	require.False(t, w.Emptied(500*time.Millisecond))
	require.LessOrEqual(t, cpuTicks(t, pid)-before, 1)
	require.NoError(t, g.Kill())
}

func cpuTicks(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(t, err)
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+2:]))
	user, err := strconv.Atoi(fields[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	return user + system
}

// A program that has inherited the variable from somewhere goes on as usual.
func TestStrayVariableIsHarmless(t *testing.T) {
	for _, value := range []string{"", "3 1 x", "nonsense", "3 " + strconv.Itoa(os.Getpid()) + " x"} {
		cmd := servers.Command("ordinary")
		cmd.Env = append(cmd.Env, "STDIOGUARD_GUARDIAN="+value)
		r, w, err := os.Pipe() // descriptor 3 is no socket
		require.NoError(t, err)
		cmd.ExtraFiles = []*os.File{r}
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Contains(t, string(out), `"result":{}`)
		r.Close()
		w.Close()
	}
}

// Neither nohup nor a shell that blocks signals reaches the server, and its death by
// one of them is told as it was.
func TestSignalsOfTheHostsParent(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("SKIPPED: no perl to block a signal with")
	}
	host := exec.Command("perl", "-e", `use POSIX; $SIG{HUP} = "IGNORE";
		sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR1)); exec @ARGV`, "/proc/self/exe")
	self, err := os.Executable()
	require.NoError(t, err)
	host.Args[3] = self
	host.Env = hostCommand("signals").Env
	out, err := host.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "SigIgn:\t0000000000000000\n")
	require.Contains(t, string(out), "signal: user defined signal 1")
}
