package procgroup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// fakeTree is a tree without processes, for the order of things in time. A real
// child would freeze the clock of a synctest bubble.
type fakeTree struct {
	begin   time.Time
	log     []string
	leader  chan struct{}
	members []proctable.Process
	on      map[string]func(*fakeTree) // what a signal does
	listErr error
	lostErr error
	look    time.Duration // how long one takes
}

func newFake(members int, on map[string]func(*fakeTree)) (*Group, *fakeTree) {
	f := &fakeTree{begin: time.Now(), leader: make(chan struct{}), on: on}
	for i := range members {
		f.members = append(f.members, proctable.Process{PID: 1<<30 + i, PGID: 1 << 30})
	}
	g := &Group{
		cmd: exec.Command("fake"), tree: f, grace: 2 * time.Second,
		term: make(chan struct{}), kill: make(chan struct{}), done: make(chan struct{}),
	}
	return g, f
}

func (f *fakeTree) containment() Containment     { return Containment{} }
func (f *fakeTree) leaderEnded() <-chan struct{} { return f.leader }
func (f *fakeTree) exited() <-chan struct{}      { return f.leader }
func (f *fakeTree) pid() int                     { return 1 << 30 }
func (f *fakeTree) lost() error                  { return f.lostErr }
func (f *fakeTree) release()                     { f.log = append(f.log, "release") }
func (f *fakeTree) alive() ([]proctable.Process, error) {
	time.Sleep(f.look) // of the fake clock
	return f.members, f.listErr
}

func (f *fakeTree) terminate() error { return f.signal(syscall.SIGTERM, nil) }

func (f *fakeTree) signal(sig os.Signal, _ []proctable.Process) error {
	name := sig.String()
	if f.on["unsupported"] != nil && sig != os.Kill {
		return errors.ErrUnsupported
	}
	if n := len(f.log); n == 0 || f.log[n-1] != name { // repeated kills are one
		f.log = append(f.log, time.Since(f.begin).String(), name)
	}
	if do := f.on[name]; do != nil {
		do(f)
	}
	return nil
}

func leaderGoes(f *fakeTree) {
	if len(f.members) > 0 {
		f.members = f.members[1:]
	}
	f.leaderEnds()
}

func allGo(f *fakeTree) {
	f.members = nil
	f.leaderEnds()
}

// leaderEnds comes last: it is what the group looks at the members after.
func (f *fakeTree) leaderEnds() {
	select {
	case <-f.leader:
	default:
		close(f.leader)
	}
}

func TestLadder(t *testing.T) {
	term, kill := syscall.SIGTERM.String(), os.Kill.String()
	stop := func(g *Group) error { return g.Stop(context.Background()) }
	for name, c := range map[string]struct {
		members int
		on      map[string]func(*fakeTree)
		do      func(*Group) error
		want    []string
		took    time.Duration
	}{
		"polite":          {2, map[string]func(*fakeTree){term: allGo}, stop, []string{"0s", term, "release"}, 0},
		"stubborn":        {2, map[string]func(*fakeTree){kill: allGo}, stop, []string{"0s", term, "2s", kill, "release"}, 2 * time.Second},
		"stubborn child":  {2, map[string]func(*fakeTree){term: leaderGoes, kill: allGo}, stop, []string{"0s", term, "2s", kill, "release"}, 2 * time.Second},
		"no SIGTERM here": {2, map[string]func(*fakeTree){"unsupported": allGo, kill: allGo}, stop, []string{"0s", kill, "release"}, 0},
		"kill":            {2, map[string]func(*fakeTree){kill: allGo}, (*Group).Kill, []string{"0s", kill, "release"}, 0},
		"stop, then kill": {2, map[string]func(*fakeTree){kill: allGo}, func(g *Group) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			return g.Stop(ctx)
		}, []string{"0s", term, "1s", kill, "release"}, time.Second},
		"leader goes, child stays": {2, map[string]func(*fakeTree){kill: allGo}, func(g *Group) error {
			leaderGoes(g.tree.(*fakeTree))
			<-g.done
			return nil
		}, []string{"0s", term, "250ms", kill, "release"}, sweepGrace},
		"guardian lost": {2, map[string]func(*fakeTree){kill: allGo}, func(g *Group) error {
			g.tree.(*fakeTree).lostErr = errors.New("lost")
			leaderGoes(g.tree.(*fakeTree))
			<-g.done
			return nil
		}, []string{"0s", kill, "release"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, f := newFake(c.members, c.on)
				go g.own(context.Background())
				require.NoError(t, c.do(g))
				// Looking at the table costs a few milliseconds of steps.
				require.InDelta(t, c.took, time.Since(f.begin), float64(100*time.Millisecond))
				for i, want := range c.want {
					if d, err := time.ParseDuration(want); err == nil {
						got, err := time.ParseDuration(f.log[i])
						require.NoError(t, err)
						require.InDelta(t, d, got, float64(50*time.Millisecond), f.log)
						continue
					}
					require.Equal(t, want, f.log[i], f.log)
				}
				require.Len(t, f.log, len(c.want), f.log)
			})
		})
	}
}

func TestSurvivorsAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := newFake(2, map[string]func(*fakeTree){os.Kill.String(): func(f *fakeTree) {
			select {
			case <-f.leader:
			default:
				leaderGoes(f)
			}
		}})
		go g.own(context.Background())
		err := g.Kill()
		var survivors *SurvivorsError
		require.ErrorAs(t, err, &survivors)
		require.Len(t, survivors.Processes, 1)
		require.Equal(t, 1<<30+1, survivors.Processes[0].PID)
		require.Equal(t, err, g.Stop(t.Context()), "the same for everybody who asks")
		require.InDelta(t, killBound, time.Since(f.begin), float64(100*time.Millisecond))
		require.ErrorContains(t, err, "pid 1073741825")
	})
}

// On a machine on which one look takes longer than a tree may live on, two of them prove
// that it is gone all the same.
func TestLooksThatTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := newFake(2, map[string]func(*fakeTree){os.Kill.String(): allGo})
		f.look = killBound + time.Second
		go g.own(context.Background())
		require.NoError(t, g.Kill())
	})
}

// A table that cannot be read is no proof, neither before the kill nor after it.
func TestNoTableIsNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := newFake(1, map[string]func(*fakeTree){os.Kill.String(): allGo})
		f.listErr = proctable.ErrIncomplete
		go g.own(context.Background())
		leaderGoes(f)
		<-g.Done()
		require.ErrorIs(t, g.Stop(t.Context()), proctable.ErrIncomplete)
	})
}

// A leader in uninterruptible sleep is given up, and reaped when it ends.
func TestLeaderThatCannotBeKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := newFake(1, nil)
		go g.own(context.Background())
		require.Error(t, g.Kill())
		require.Error(t, g.Wait())
		require.NotContains(t, f.log, "release")
		close(f.leader)
		synctest.Wait()
		require.Contains(t, f.log, "release")
	})
}
