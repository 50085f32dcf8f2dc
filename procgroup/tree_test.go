//go:build unix

package procgroup_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A shape is a process tree and who is in it.
type shape struct {
	name    string
	command func() *exec.Cmd
	members []string
	leaves  bool // its leader ends by itself when told to (SIGTERM)
}

var shapes = []shape{
	{"shell that forks", func() *exec.Cmd { return servers.Shell("sh", "run stubborn-sleeper; true") },
		[]string{"stubborn-sleeper"}, true},
	{"bash that forks", func() *exec.Cmd { return servers.Shell("bash", "run stubborn-sleeper; true") },
		[]string{"stubborn-sleeper"}, true},
	{"shell that becomes the server", func() *exec.Cmd {
		return servers.Shell("sh", "run stubborn-sleeper </dev/null >/dev/null 2>&1 & "+servers.Exec("sleeper"))
	}, []string{"sleeper", "stubborn-sleeper"}, true},
	{"child that ignores SIGTERM", func() *exec.Cmd { return servers.Command("deserter") },
		[]string{"deserter", "stubborn-sleeper"}, true},
	{"session and daemon of its own", func() *exec.Cmd { return servers.Command("escapist") },
		[]string{"escapist", "stubborn-sleeper", "stubborn-sleeper"}, true},
}

var ends = []struct {
	name   string
	end    func(t *testing.T, g *procgroup.Group, cancel context.CancelFunc)
	polite bool
}{
	{"Stop", func(t *testing.T, g *procgroup.Group, _ context.CancelFunc) {
		require.NoError(t, g.Stop(t.Context()))
	}, true},
	{"Kill", func(t *testing.T, g *procgroup.Group, _ context.CancelFunc) {
		require.NoError(t, g.Kill())
	}, false},
	{"lifetime", func(t *testing.T, g *procgroup.Group, cancel context.CancelFunc) {
		cancel()
		<-g.Done()
	}, false},
	{"leader killed by somebody else", func(t *testing.T, g *procgroup.Group, _ context.CancelFunc) {
		killByNumber(t, g.Pid())
		<-g.Done()
	}, false},
}

// kinds are the ways in which a tree can be owned. Each has to hold by itself; what
// the next better one would catch, it must not need.
var kinds = map[string]procgroup.Config{
	"default": {}, // on Linux: guarded, with a control group where that can be had
	"guarded": {Cgroup: procgroup.CgroupOff},
	"direct":  {NoGuardian: true},
}

// each runs a test with every kind of tree.
func each(t *testing.T, test func(t *testing.T, c procgroup.Config)) {
	t.Helper()
	for kind, c := range kinds {
		t.Run(kind, func(t *testing.T) { test(t, c) })
	}
}

// TestTree ends every shape of tree in every way, and then again with the
// protection off, which must leave somebody behind.
func TestTree(t *testing.T) {
	for _, s := range shapes {
		for _, e := range ends {
			t.Run(s.name+"/"+e.name, func(t *testing.T) {
				if _, err := exec.LookPath("bash"); err != nil && s.name == "bash that forks" {
					t.Skip("no bash on this machine")
				}
				run := func(t *testing.T, c procgroup.Config) *servers.Witness {
					c.Grace = 50 * time.Millisecond
					w := servers.NewWitness(t)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					cmd := s.command()
					stdin, err := cmd.StdinPipe() // held open: end of file is not the subject
					require.NoError(t, err)
					defer stdin.Close()
					g, err := c.Start(ctx, w.Watch(cmd))
					require.NoError(t, err)
					w.Await(t, s.members...)
					e.end(t, g, cancel)
					<-g.Done()
					members, err := g.Members()
					require.NoError(t, err)
					require.Empty(t, members)
					return w
				}
				each(t, func(t *testing.T, c procgroup.Config) { run(t, c).Gone(t) })
				require.NotEmpty(t, run(t, procgroup.LeaderOnly(procgroup.Config{})).Alive(),
					"with the protection off nobody survived: this test proves nothing")
			})
		}
	}
}

// A helper that a finished server leaves behind gets no grace but its own short
// one, and a polite one not even that: the group's Grace here would fail the test
// by its timeout.
func TestLeftoversOfAFinishedLeaderAreSweptAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		w := servers.NewWitness(t)
		cmd := w.Watch(servers.Shell("sh", "run sleeper </dev/null >/dev/null 2>&1 & run stubborn-sleeper & read line; exit 3"))
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		c.Grace = time.Hour
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		w.Await(t, "sleeper", "stubborn-sleeper")
		stdin.Close()
		var exit *exec.ExitError
		require.ErrorAs(t, g.Wait(), &exit)
		require.Equal(t, 3, exit.ExitCode())
		w.Gone(t)
	})
}

func TestKeepLeavesThemRunning(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		w := servers.NewWitness(t)
		cmd := w.Watch(servers.Shell("sh", "run sleeper & read line; exit 0"))
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		c.Leftovers = procgroup.Keep
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		w.Await(t, "sleeper")
		stdin.Close()
		require.NoError(t, g.Wait())
		w.Left(t, "sleeper")
		killByNumber(t, w.Alive()[0].PID)
		w.Settle(t)
	})
}

// Two trees and a plain child of the host: ending one is not felt by the others.
func TestOthersAreNotTouched(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		w := servers.NewWitness(t)
		start := func() *procgroup.Group {
			g, err := c.Start(t.Context(), w.Watch(servers.Command("deserter")))
			require.NoError(t, err)
			return g
		}
		plain := w.Watch(servers.Command("sleeper"))
		require.NoError(t, plain.Start())
		defer plain.Wait()
		defer plain.Process.Kill()
		one, two := start(), start()
		w.Await(t, "deserter", "deserter", "stubborn-sleeper", "stubborn-sleeper", "sleeper")

		require.NoError(t, one.Kill())
		w.Left(t, "sleeper", "deserter", "stubborn-sleeper")
		members, err := two.Members()
		require.NoError(t, err)
		require.Len(t, members, 2)
		require.NoError(t, two.Kill())
		w.Left(t, "sleeper")
	})
}

// The leader's end is told at once, and not when its leftovers are gone: these have
// an hour here.
func TestExitedComesBeforeTheSweep(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		c.Grace = time.Hour
		g, w := start(t, c, servers.Command("deserter"), "deserter", "stubborn-sleeper")
		stopped := make(chan error, 1)
		go func() { stopped <- g.Stop(context.Background()) }()
		within(t, g.Exited())
		w.Left(t, "stubborn-sleeper")
		select {
		case <-g.Done():
			t.Fatal("done with somebody alive")
		default:
		}
		require.NoError(t, g.Kill())
		require.NoError(t, <-stopped)
		w.Gone(t)
	})
}

// within fails the test, rather than let it hang, if c is not closed in time.
func within[T any](t *testing.T, c <-chan T) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("still waiting after 30 s")
	}
}
