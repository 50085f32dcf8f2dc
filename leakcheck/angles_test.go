package leakcheck

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// The hand-made table: go test (10) runs this process (100) in its own group and
// session; 1 is pid 1.
const (
	goPID, mePID = 10, 100
	meStart      = 1000
)

type row struct {
	pid, ppid, pgid, sid int
	environ              string // "": none to be seen; "?": maybe inside execve
	zombie, old          bool
}

// others are there in every table, and never found.
var strangers = []row{
	{pid: 1, pgid: 1, sid: 1, old: true},
	{pid: goPID, ppid: 1, pgid: 10, sid: 5, old: true},
	{pid: mePID, ppid: goPID, pgid: 10, sid: 5, old: true},
	{pid: 101, ppid: goPID, pgid: 10, sid: 5},                                             // a test binary beside this one
	{pid: 102, ppid: 101, pgid: 10, sid: 5, environ: "STDIOGUARD_TOKEN=another"},          // and its child
	{pid: 103, ppid: 1, pgid: 10, sid: 5},                                                 // an orphan in the group that go test has
	{pid: 104, ppid: 1, pgid: 104, sid: 104, environ: "STDIOGUARD_TOKEN=mine", old: true}, // who is older has no token of ours
	{pid: 105, ppid: 1, pgid: 105, sid: 105, zombie: true},                                // pid 1 is to wait for it
	{pid: 106, ppid: 1, pgid: 5, sid: 5}, {pid: 5, ppid: 1, pgid: 5, sid: 5, old: true},   // the shell, and a job of it
	{pid: 107, ppid: 105, pgid: 0, sid: 0}, {pid: 108, ppid: 1, pgid: 0, sid: 0}, // numbers that the system does not tell
}

func tableOf(rows []row) *view {
	var all []proctable.Process
	for _, r := range slices.Concat(strangers, rows) {
		p := proctable.Process{PID: r.pid, PPID: r.ppid, PGID: r.pgid, SID: r.sid, State: proctable.Sleeping, Start: meStart + uint64(r.pid)}
		if r.old {
			p.Start = 1
		}
		if r.pid == mePID {
			p.Start = meStart
		}
		if r.zombie {
			p.State = proctable.Zombie
		}
		all = append(all, p)
	}
	v := newView(all, mePID)
	v.adopters = map[int]bool{1: true, goPID: true}
	for _, r := range slices.Concat(strangers, rows) {
		switch r.environ {
		case "":
			v.environs[r.pid] = environ{"", proctable.No}
		case "?":
			v.environs[r.pid] = environ{"", proctable.Unsure}
		default:
			v.environs[r.pid] = environ{r.environ, proctable.Yes}
		}
	}
	return v
}

const mine = "A=1\x00STDIOGUARD_TOKEN=outer,mine"

func familyIn(t *testing.T, v *view, seen map[proctable.ID]int, reaper bool) map[int]string {
	t.Helper()
	atInit := proctable.Process{PID: mePID, PGID: 10, SID: 5}
	f := newFamily(v)
	f.addOwn(seen, reaper)
	require.NoError(t, f.addCarriers(func(tokens []string) bool { return slices.Contains(tokens, "mine") }))
	f.addSeen(seen)
	f.addKin(atInit)
	return f.how
}

func TestAngles(t *testing.T) {
	for name, c := range map[string]struct {
		rows   []row
		seen   map[proctable.ID]int
		reaper bool
		want   map[int]string
	}{
		"nobody": {want: map[int]string{}},
		"child and its child": {
			rows: []row{{pid: 201, ppid: mePID, pgid: 10, sid: 5}, {pid: 202, ppid: 201, pgid: 10, sid: 5}},
			want: map[int]string{201: asChild, 202: asDescendant},
		},
		"zombies": { // of ours, and of a child of ours
			rows: []row{{pid: 201, ppid: mePID, zombie: true}, {pid: 202, ppid: mePID}, {pid: 203, ppid: 202, zombie: true}},
			want: map[int]string{201: asZombie, 202: asChild},
		},
		"orphans": {
			rows: []row{{pid: 201, ppid: 1, pgid: 10, sid: 5, environ: mine}, {pid: 202, ppid: goPID, pgid: 10, sid: 5, environ: mine}},
			want: map[int]string{201: asOrphan, 202: asOrphan},
		},
		"child of an orphan": {
			rows: []row{{pid: 201, ppid: 1, environ: mine}, {pid: 202, ppid: 201, environ: mine}, {pid: 203, ppid: 201, environ: "A=1"}},
			want: map[int]string{201: asOrphan, 202: asCarrier, 203: asDescendant},
		},
		"session of a child": {
			rows: []row{{pid: 201, ppid: mePID, pgid: 201, sid: 201}, {pid: 202, ppid: 1, pgid: 202, sid: 201}},
			want: map[int]string{201: asChild, 202: asSession},
		},
		"session whose leader is gone": {
			rows: []row{{pid: 202, ppid: 1, pgid: 201, sid: 201, environ: mine}, {pid: 203, ppid: 1, pgid: 203, sid: 201}, {pid: 204, ppid: 203, pgid: 204, sid: 204}},
			want: map[int]string{202: asOrphan, 203: asSession, 204: asDescendant},
		},
		"group of a child's zombie": {
			rows: []row{{pid: 201, ppid: mePID, pgid: 201, sid: 5, zombie: true}, {pid: 202, ppid: 1, pgid: 201, sid: 5}},
			want: map[int]string{201: asZombie, 202: asGroup},
		},
		"group with somebody's child in it": {
			rows: []row{{pid: 201, ppid: mePID, pgid: 201, sid: 5}, {pid: 202, ppid: 5, pgid: 201, sid: 5}},
			want: map[int]string{201: asChild},
		},
		"group that a stranger leads": { // and into which a child was put
			rows: []row{{pid: 150, ppid: 5, pgid: 150, sid: 5}, {pid: 151, ppid: 1, pgid: 150, sid: 5}, {pid: 201, ppid: mePID, pgid: 150, sid: 5}},
			want: map[int]string{201: asChild},
		},
		"seen before": {
			rows: []row{{pid: 201, ppid: 1}, {pid: 202, ppid: 1}},
			seen: map[proctable.ID]int{{PID: 201, Start: meStart + 201}: 77, {PID: 202, Start: meStart + 1}: 77},
			want: map[int]string{201: asSeen}, // 202 is another holder of the number
		},
		"adopted": {
			rows:   []row{{pid: 201, ppid: mePID}, {pid: 202, ppid: mePID}, {pid: 203, ppid: mePID, zombie: true}},
			seen:   map[proctable.ID]int{{PID: 201, Start: meStart + 201}: 77},
			reaper: true,
			want:   map[int]string{201: asAdopted, 202: asReapersChild},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, familyIn(t, tableOf(c.rows), c.seen, c.reaper))
		})
	}
}

// A process that was moved to another session, and knows its first one no more, must not
// take that for one that it has made: the terminal's would be killed.
func TestSessionThatThisProcessHasLeft(t *testing.T) {
	v := tableOf([]row{{pid: 201, ppid: mePID, pgid: 10, sid: 5}})
	v.me.SID, v.me.PGID = mePID, mePID
	require.Equal(t, map[int]string{201: asChild}, familyIn(t, v, nil, false))

	delete(v.rows, 5) // the leader has ended: the shell
	delete(v.rows, goPID)
	require.Equal(t, map[int]string{201: asChild}, familyIn(t, v, nil, false))

	f := newFamily(v)
	f.addOwn(nil, false)
	f.addKin(proctable.Process{}) // nothing is known of it
	require.Equal(t, map[int]string{201: asChild}, f.how)
}

// In a namespace of PIDs whose first process did not begin a session, that of this process
// was begun outside, and has the number 0.
func TestSessionOfThisProcessIsOutsideItsNamespace(t *testing.T) {
	v := tableOf([]row{{pid: 201, ppid: mePID, pgid: 201, sid: 201}, {pid: 202, ppid: 1, pgid: 202, sid: 201}})
	v.me.SID, v.me.PGID = 0, 0
	f := newFamily(v)
	f.addOwn(nil, false)
	f.addKin(proctable.Process{PID: mePID})
	require.Equal(t, map[int]string{201: asChild, 202: asSession}, f.how)
}

func TestDoubtIsOfOrphansAndChildren(t *testing.T) {
	for _, c := range []struct {
		row    row
		unsure bool
	}{{row{pid: 201, ppid: 1, environ: "?"}, true}, {row{pid: 201, ppid: mePID, environ: "?"}, true}, {row{pid: 201, ppid: 102, environ: "?"}, false}} {
		f := newFamily(tableOf([]row{c.row}))
		require.NoError(t, f.addCarriers(func([]string) bool { return true }))
		require.Equal(t, c.unsure, f.unsure)
	}
}
