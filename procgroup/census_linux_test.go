package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// Numbers that no process has: what is asked of the system about them has no answer.
const (
	hostPID  = 1<<30 + iota // a parent that is alive and no member
	leaderID                // of the leader, born at 100
	childPID
	otherPID
)

// row is a process that lives, is older than nobody, and has nothing in common with
// the leader.
func row(change func(*proctable.Process)) proctable.Process {
	p := proctable.Process{PID: otherPID, PPID: hostPID, PGID: otherPID, SID: otherPID, State: proctable.Sleeping, Start: 100}
	change(&p)
	return p
}

func leaderRow(state proctable.State) proctable.Process {
	return row(func(p *proctable.Process) { p.PID, p.PGID, p.SID, p.State = leaderID, leaderID, leaderID, state })
}

// handMade is a census over a table that the test makes.
func handMade(session bool, table ...proctable.Process) *census {
	c := newCensus(leaderID, session, "token")
	c.id.Start = 100
	c.list = func() ([]proctable.Process, error) { return table, nil }
	return c
}

func alivePIDs(t *testing.T, c *census, parents ...int) (pids []int) {
	t.Helper()
	alive, err := c.alive(parents...)
	require.NoError(t, err)
	for _, p := range alive {
		pids = append(pids, p.PID)
	}
	slices.Sort(pids)
	return pids
}

func TestCensusCountsByEachSignAlone(t *testing.T) {
	zombie := leaderRow(proctable.Zombie)
	stranger := row(func(*proctable.Process) {})
	inSession := row(func(p *proctable.Process) { p.SID = leaderID })
	inGroup := row(func(p *proctable.Process) { p.PGID = leaderID })
	child := row(func(p *proctable.Process) { p.PPID = leaderID })
	older := row(func(p *proctable.Process) { p.PGID, p.SID, p.Start = leaderID, leaderID, 99 })
	grandchild := row(func(p *proctable.Process) { p.PID, p.PPID, p.PGID, p.SID = childPID, otherPID, childPID, childPID })
	zombieChild := row(func(p *proctable.Process) { p.PPID, p.State = leaderID, proctable.Zombie })

	for name, c := range map[string]struct {
		session bool
		table   []proctable.Process
		want    []int
	}{
		"the leader itself":              {true, []proctable.Process{leaderRow(proctable.Running)}, []int{leaderID}},
		"a leader that has ended":        {true, []proctable.Process{zombie}, nil},
		"a stranger":                     {true, []proctable.Process{zombie, stranger}, nil},
		"session":                        {true, []proctable.Process{zombie, inSession}, []int{otherPID}},
		"session of a leader without it": {false, []proctable.Process{zombie, inSession}, nil},
		"group":                          {false, []proctable.Process{zombie, inGroup}, []int{otherPID}},
		"descent":                        {true, []proctable.Process{zombie, child}, []int{otherPID}},
		"descent through a zombie":       {true, []proctable.Process{zombie, grandchild, zombieChild}, []int{childPID}},
		"older than the leader":          {true, []proctable.Process{zombie, older}, nil},
		"the number of a stranger":       {true, []proctable.Process{row(func(p *proctable.Process) { p.PID, p.Start = leaderID, 101 }), inGroup, inSession}, nil},
		"no leader, no group":            {true, []proctable.Process{inGroup, inSession}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, alivePIDs(t, handMade(c.session, c.table...)))
		})
	}
}

// Where the leader's status was stolen, the system may still know its group.
func TestCensusAsksForTheGroupOfALostLeader(t *testing.T) {
	inGroup := row(func(p *proctable.Process) { p.PGID = leaderID })
	for _, known := range []bool{true, false} {
		c := handMade(true, inGroup)
		c.group = func() bool { return known }
		require.Equal(t, known, len(alivePIDs(t, c)) == 1)
	}
	// But not while the number is somebody else's.
	c := handMade(true, inGroup, row(func(p *proctable.Process) { p.PID, p.Start = leaderID, 101 }))
	c.group = func() bool { return true }
	require.Empty(t, alivePIDs(t, c))
}

func TestCensusRemembersWhomItHasSeen(t *testing.T) {
	child := row(func(p *proctable.Process) { p.PPID = leaderID })
	c := handMade(true, leaderRow(proctable.Running), child)
	require.Equal(t, []int{leaderID, otherPID}, alivePIDs(t, c))
	orphan := row(func(p *proctable.Process) { p.PPID = 1 })
	c.list = func() ([]proctable.Process, error) { return []proctable.Process{orphan}, nil }
	require.Equal(t, []int{otherPID}, alivePIDs(t, c))
	orphan.Start++ // another one with the same number
	require.Empty(t, alivePIDs(t, c))
}

// The guardian's children are members, and the guardian is not.
func TestCensusCountsTheChildrenOfAGuardian(t *testing.T) {
	guardian := row(func(p *proctable.Process) { p.PID = childPID })
	c := handMade(true, guardian, row(func(p *proctable.Process) { p.PPID = childPID }))
	require.Empty(t, alivePIDs(t, c))
	require.Equal(t, []int{otherPID}, alivePIDs(t, c, childPID))
	c.seen[guardian.ID()] = true
	require.Equal(t, []int{otherPID}, alivePIDs(t, c, childPID))
}

// A table that cannot be read at all is an error; hidden strangers are none.
func TestCensusOfAnIncompleteTable(t *testing.T) {
	c := handMade(true)
	c.list = func() ([]proctable.Process, error) { return nil, proctable.ErrIncomplete }
	_, err := c.alive()
	require.ErrorIs(t, err, proctable.ErrIncomplete)
	c.list = func() ([]proctable.Process, error) {
		return []proctable.Process{leaderRow(proctable.Running)}, proctable.ErrIncomplete
	}
	require.Equal(t, []int{leaderID}, alivePIDs(t, c))
}

// nameless starts a process with an empty environment.
func nameless(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cat")
	cmd.Env = []string{}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	return cmd
}

// An empty environment may be that of a process inside execve, but not if its
// parent is there and no member: then it is a stranger's.
func TestCensusDoubtsOnlyOrphans(t *testing.T) {
	pid := nameless(t).Process.Pid
	empty := row(func(p *proctable.Process) { p.PID = pid })
	require.Empty(t, alivePIDs(t, handMade(true, empty)))

	empty.PPID = 1
	c := handMade(true, empty)
	_, err := c.alive()
	require.ErrorIs(t, err, errUnsettled)
	require.Eventually(t, func() bool { _, err := c.alive(); return err == nil }, 10*time.Second, time.Millisecond)

	older := empty
	older.Start = 99
	require.Empty(t, alivePIDs(t, handMade(true, older)))
	// A member is there to be killed; doubts can wait.
	require.Equal(t, []int{leaderID}, alivePIDs(t, handMade(true, empty, leaderRow(proctable.Running))))
}

// Strangers that come and go without an end are waited for no longer than one.
func TestDoubtsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &census{unsure: make(map[proctable.ID]bool)}
		doubtful := func(pid int) []proctable.Process { return []proctable.Process{{PID: pid}} }
		require.False(t, (&census{}).unsettled(nil))
		require.True(t, c.unsettled(doubtful(1<<30)))
		require.False(t, c.unsettled(doubtful(1<<30+1)), "born when nobody was left to be its parent")
		time.Sleep(proctable.UnsureBound - time.Millisecond)
		require.True(t, c.unsettled(doubtful(1<<30)))
		time.Sleep(time.Millisecond)
		require.False(t, c.unsettled(doubtful(1<<30)))
	})
}

func TestVerifierWantsTwoLooksInARow(t *testing.T) {
	someone := []proctable.Process{{PID: 1 << 30}}
	var v verifier
	for i, look := range []struct {
		alive []proctable.Process
		err   error
		want  bool
	}{
		{nil, nil, false},
		{someone, nil, false},
		{nil, nil, false},
		{nil, errors.New("cannot look"), false},
		{nil, errUnsettled, false},
		{nil, nil, false},
		{nil, nil, true},
	} {
		require.Equal(t, look.want, v.gone(look.alive, look.err), i)
	}
}

// Signal 0 asks, and does no harm if the answer is wrong.
func TestKillGroupRefusesWhatIsNoGroup(t *testing.T) {
	for _, pgid := range []int{0, 1, -1, -os.Getpid()} {
		require.Error(t, killGroup(pgid, 0), pgid)
	}
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	require.NoError(t, killGroup(cmd.Process.Pid, syscall.SIGKILL))
	require.ErrorContains(t, cmd.Wait(), "killed")
}

// The leader is gone, and its number has another holder: whoever that is, a signal
// to the group is not for him.
func TestGroupSignalSparesALaterHolderOfTheNumber(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	pid := cmd.Process.Pid
	d := &direct{leader: &leader{pid: pid}, census: newCensus(pid, false, "token")}
	d.census.id.Start-- // its own was started before
	require.NoError(t, d.signalGroup(syscall.SIGUSR1))

	d.census.id.Start++
	require.NoError(t, d.signalGroup(syscall.SIGTERM)) // of two, the lower number strikes first
	require.ErrorContains(t, cmd.Wait(), "terminated")
}
