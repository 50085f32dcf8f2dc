package procgroup_test

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
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

// The host is killed at a random instant around Start, many times.
func TestHostKilledWhileItStarts(t *testing.T) {
	w := servers.NewWitness(t)
	for range rounds(200) {
		cmd := w.Watch(hostCommand("start"))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n') // it is about to call Start
		require.NoError(t, err)
		timer := time.NewTimer(time.Duration(rand.Int64N(int64(12 * time.Millisecond))))
		<-timer.C
		require.NoError(t, cmd.Process.Kill())
		cmd.Wait()
	}
	// All hosts are dead: what they started follows, and reports to nobody.
	require.Eventually(t, func() bool { return len(w.Alive()) == 0 && len(offspring(t)) == 0 }, 10*time.Second, 5*time.Millisecond)
}

// rounds is fewer with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// The guardian is killed first, and then, before anybody has asked for anything,
// the host.
func TestGuardianAndThenHostAreKilled(t *testing.T) {
	w := servers.NewWitness(t)
	host := w.Watch(hostCommand("guardian: SIGKILL"))
	in, out := pipes(t, host)
	defer in.Close()
	require.NoError(t, host.Start())
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	leader, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	w.Await(t, "clan", "stubborn-sleeper", "stubborn-sleeper", "stubborn-sleeper")
	p, err := proctable.Lookup(leader)
	require.NoError(t, err)
	guardian, err := proctable.Lookup(p.PPID)
	require.NoError(t, err)
	require.Equal(t, host.Process.Pid, guardian.PPID)
	require.NoError(t, proctable.Signal(guardian.ID(), syscall.SIGKILL))
	w.Emptied(500 * time.Millisecond) // the time that the host has for it
	require.NoError(t, host.Process.Kill())
	host.Wait()
	w.Settle(t)
}

// A host that is pid 1 of a container has nobody above it, and gets all orphans.
func TestHostIsPidOne(t *testing.T) {
	for _, event := range []string{"guardian: Kill", "guardian: Stop", "direct: Kill"} {
		host := hostCommand(event)
		self, err := os.Executable()
		require.NoError(t, err)
		inside := exec.Command("unshare", "-pf", "--mount-proc", self)
		inside.Env = host.Env
		in, out := pipes(t, inside)
		var errs strings.Builder
		inside.Stderr = &errs
		require.NoError(t, inside.Start())
		if _, err := out.ReadString('\n'); err != nil {
			inside.Wait()
			t.Skip("SKIPPED: no pid namespace to be had: ", errs.String())
		}
		io.WriteString(in, "\n")
		answer, err := out.ReadString('\n')
		require.NoError(t, err, errs.String())
		require.Equal(t, "done\n", answer, event)
		io.WriteString(in, "\n")
		require.NoError(t, inside.Wait(), errs.String())
	}
}

// offspring lists live processes that a host of this test has caused.
func offspring(t *testing.T) (pids []int) {
	t.Helper()
	own, _, _ := strings.Cut(os.Getenv(proctable.TokenVar), ",")
	all, err := proctable.List()
	require.NoError(t, err)
	for _, p := range all {
		carries, err := proctable.Carrier(p, own)
		require.NoError(t, err)
		if p.PID != os.Getpid() && carries == proctable.Yes {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// The context ends at a random instant around Start, many times.
func TestContextEndsWhileItStarts(t *testing.T) {
	for range rounds(1000) {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(rand.Int64N(int64(8*time.Millisecond))), cancel)
		g, err := procgroup.Start(ctx, exec.Command("sh", "-c", "sleep 60 & sleep 60"))
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			continue
		}
		<-g.Done()
		require.NoError(t, g.Stop(t.Context()))
		timer.Stop()
		cancel()
	}
}
