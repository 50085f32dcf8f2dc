package procgroup_test

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A process may have nothing left by which it is recognised but one sign. In a direct
// tree all depends on it; a guardian is the parent of all orphans, and asks for none.
var strays = map[string]struct {
	args         []string
	keepTerminal bool // the leader has a group and no session of its own
	leaderEnds   bool
}{
	"session":                        {args: []string{"setpgid", "orphan", "forgetful", "stubborn"}},
	"group":                          {args: []string{"orphan", "forgetful", "stubborn"}, keepTerminal: true},
	"descent":                        {args: []string{"setsid", "forgetful", "stubborn"}},
	"seen when the leader was there": {args: []string{"setsid", "forgetful", "stubborn"}, leaderEnds: true},
	"token":                          {args: []string{"setsid", "orphan", "stubborn"}},
}

func TestStrayIsAMemberByEachSignAlone(t *testing.T) {
	for name, s := range strays {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, c procgroup.Config) {
				c.KeepTerminal, c.Grace = s.keepTerminal, time.Millisecond
				w := servers.NewWitness(t)
				cmd := w.Watch(servers.Command("emigrant", s.args...))
				stdin, err := cmd.StdinPipe()
				require.NoError(t, err)
				g, err := c.Start(t.Context(), cmd)
				require.NoError(t, err)
				stray := w.Await(t, "emigrant", "stubborn-sleeper")[1]

				members, err := g.Members()
				require.NoError(t, err)
				require.True(t, slices.ContainsFunc(members, func(p procgroup.Process) bool { return p.PID == stray.PID }), members)
				require.Len(t, members, 2)
				if s.leaderEnds {
					stdin.Close()
					require.NoError(t, g.Wait())
				}
				require.NoError(t, g.Stop(t.Context()))
				w.Gone(t)
			})
		})
	}
}

// Nobody has looked at the tree before the kill: the child that only its parent
// could tell of must be met while that lives.
func TestKillMeetsAStrayBeforeItsParentDies(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		g, w := start(t, c, servers.Command("emigrant", "setsid", "forgetful"), "emigrant", "sleeper")
		require.NoError(t, g.Kill())
		w.Gone(t)
	})
}

// The grace is an hour: only who was told goes before that is over.
func TestStopTellsStrays(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		c.Grace = time.Hour
		for _, where := range []string{"setsid", "setpgid"} {
			g, w := start(t, c, servers.Command("emigrant", where, "orphan"), "emigrant", "sleeper")
			require.NoError(t, g.Stop(t.Context()))
			w.Gone(t)
		}
	})
}

// A process whose main thread has ended looks like a zombie, and is none.
func TestProcessWithoutItsMainThreadIsEnded(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		c.Grace = time.Millisecond
		w := servers.NewWitness(t)
		cmd := w.Watch(servers.Shell("sh", "run headless & read line; exit 0"))
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		pid := w.Await(t, "headless")[0].PID
		members, err := g.Members()
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(members, func(p procgroup.Process) bool { return p.PID == pid }), members)
		stdin.Close()
		require.NoError(t, g.Wait())
		w.Gone(t)

		// Nothing but its token tells of this one where there is no guardian.
		g, w = start(t, c, servers.Shell("sh", "(setsid sh -c '"+servers.Exec("headless")+"' &) ; "+servers.Exec("sleeper")), "headless", "sleeper")
		require.NoError(t, g.Stop(t.Context()))
		w.Gone(t)

		g, w = start(t, c, servers.Command("headless"), "headless")
		select {
		case <-g.Exited():
			t.Fatal("its leader has not ended")
		default:
		}
		require.NoError(t, g.Stop(t.Context()))
		w.Gone(t)
	})
}

// Strangers with an empty environment and no parent, which may be what a process
// inside execve is, come and go all the time.
func TestStrangersDoNotKeepAStopFromEnding(t *testing.T) {
	for range 2 {
		// Some 20 s at most, longer than a Stop is waited for, and some five at a time.
		loop := exec.Command("sh", "-c", `i=0; while [ $i -lt 1000 ]; do (env -i sleep 0.1 &); sleep 0.02; i=$((i+1)); done; exec cat`)
		stdin, err := loop.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, loop.Start())
		defer loop.Wait()
		defer loop.Process.Kill()
		defer stdin.Close()
	}
	each(t, func(t *testing.T, c procgroup.Config) {
		c.Grace = time.Hour
		for range 3 {
			g, w := start(t, c, servers.Command("sleeper"), "sleeper")
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			require.NoError(t, g.Stop(ctx))
			require.NoError(t, ctx.Err(), "it would have waited for the end of its grace")
			w.Gone(t)
		}
	})
}

// Numbers that are no signals reach nobody, and do not spoil what comes after them.
// 265 and -247 are 9 in the byte that goes to a guardian.
func TestSignalRefusesWhatIsNone(t *testing.T) {
	each(t, func(t *testing.T, c procgroup.Config) {
		cmd := exec.Command("sh", "-c", `trap 'echo told; exit 5' USR1; echo ready; while :; do sleep 0.01; done`)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		defer g.Kill()
		line := make([]byte, len("ready\n"))
		_, err = io.ReadFull(out, line)
		require.NoError(t, err)
		for _, sig := range []syscall.Signal{999, -1, 265, -247, 65} {
			err := g.Signal(sig)
			require.ErrorIs(t, err, errors.ErrUnsupported, int(sig))
			require.ErrorContains(t, err, "procgroup: ")
		}
		require.NoError(t, g.Signal(syscall.Signal(0)), "asks and does nothing")
		require.NoError(t, g.Signal(syscall.SIGUSR1))
		said, err := io.ReadAll(out)
		require.NoError(t, err)
		require.Equal(t, "told\n", string(said))
		require.ErrorContains(t, g.Wait(), "exit status 5")
	})
}
