package guardian

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func rawRow(r row) []byte {
	b := make([]byte, rowSize)
	copy(b[rowStart:], put32(nil, uint32(r.start/1e6)))
	copy(b[rowStart+8:], put32(nil, uint32(r.start%1e6)))
	copy(b[rowPid:], put32(nil, uint32(r.pid)))
	copy(b[rowParent:], put32(nil, uint32(r.parent)))
	copy(b[rowGroup:], put32(nil, uint32(r.group)))
	b[rowStat] = 2
	if r.zombie {
		b[rowStat] = statZombie
	}
	return b
}

func TestRowsOfTheTable(t *testing.T) {
	want := []row{
		{pid: 0},
		{pid: 1, start: 1_700_000_000_000_007},
		{pid: 99998, parent: 1, group: 99990, start: 1_700_000_001_999_999, zombie: true},
	}
	var raw []byte
	for _, r := range want {
		raw = append(raw, rawRow(r)...)
	}
	rows, ok := parseRows(string(raw))
	require.True(t, ok)
	require.Equal(t, want, rows)
	rows, ok = parseRows(string(raw[:len(raw)-1])) // as package syscall returns it
	require.True(t, ok)
	require.Equal(t, want, rows)
	for _, cut := range []int{0, 1, rowSize - 2, rowSize + 1} {
		_, ok = parseRows(string(raw[:cut]))
		require.False(t, ok, "cut at %d", cut)
	}

	require.True(t, has([]row{{pid: 5, parent: 4, group: 5, start: 1}}, row{pid: 5, parent: 4, group: 5}))
	require.False(t, has([]row{{pid: 5, parent: 3, group: 5, start: 1}}, row{pid: 5, parent: 4, group: 5}))
	require.False(t, has([]row{{pid: 5, parent: 4, group: 5}}, row{pid: 5, parent: 4, group: 5}), "no time of start")
	require.False(t, has(nil, row{pid: 5}))
}

func pids(rows []row) (list []int) {
	for _, r := range rows {
		list = append(list, r.pid)
	}
	slices.Sort(list)
	return list
}

func TestFamilyRemembersWhoLeft(t *testing.T) {
	strangers := []row{
		{pid: 0, start: 1}, {pid: 1, start: 1}, {pid: 50, parent: 1, group: 50, start: 2},
		{pid: 90, parent: 50, group: 90, start: 3}, // the guardian
	}
	with := func(rows ...row) []row { return append(slices.Clone(strangers), rows...) }
	f := make(family)

	members, found := f.look(with(
		row{pid: 100, parent: 90, group: 100, start: 10},
		row{pid: 101, parent: 100, group: 100, start: 11},
		row{pid: 102, parent: 101, group: 102, start: 12}, // setsid
		row{pid: 103, parent: 1, group: 100, start: 13},   // an orphan in the group
		row{pid: 104, parent: 103, group: 104, start: 14},
	), 100)
	require.Equal(t, []int{100, 101, 102, 103, 104}, pids(members))
	require.Equal(t, pids(members), pids(found))

	// All parents die, 104 as well, and its number goes to a stranger.
	now := with(
		row{pid: 100, parent: 90, group: 100, start: 10, zombie: true},
		row{pid: 102, parent: 1, group: 102, start: 12},
		row{pid: 104, parent: 1, group: 104, start: 99},
		row{pid: 105, parent: 102, group: 102, start: 20},
		row{pid: 106, parent: 104, group: 104, start: 100},
	)
	members, found = f.look(now, 100)
	require.Equal(t, []int{102, 105}, pids(members))
	require.Equal(t, []int{105}, pids(found))

	// The leader is reaped: its number means nobody now, and 0 is no group.
	members, found = f.look(append(now, row{pid: 107, parent: 1, group: 100, start: 101}), 0)
	require.Equal(t, []int{102, 105}, pids(members))
	require.Empty(t, found)
	members, _ = f.look(strangers, 0)
	require.Empty(t, members)
	require.Empty(t, f)
}

// A table that is not read at one instant can show a loop.
func TestFamilyOfALoopEnds(t *testing.T) {
	members, _ := make(family).look([]row{
		{pid: 10, parent: 12, group: 10, start: 1}, {pid: 11, parent: 10, start: 1}, {pid: 12, parent: 11, start: 1}, {pid: 11, parent: 10, start: 1},
	}, 10)
	require.Equal(t, []int{10, 11, 12}, pids(members))
}

func TestSteadyClock(t *testing.T) {
	var s steady
	begin := s.at(1_700_000_000_000)
	require.EqualValues(t, 0, s.at(1_700_000_000_000)-begin)
	require.EqualValues(t, 999, s.at(1_700_000_000_999)-begin)
	require.EqualValues(t, 999+lookMillis, s.at(1_600_000_000_000)-begin, "set back")
	require.EqualValues(t, 999+lookMillis+1, s.at(1_600_000_000_001)-begin)
	require.EqualValues(t, 999+2*lookMillis+1, s.at(1_700_000_000_000)-begin, "set on")
}

func FuzzRows(f *testing.F) {
	f.Add(string(rawRow(row{pid: 2, parent: 1, group: 2, start: 5})))
	f.Add(strings.Repeat("\x00", rowSize-1))
	f.Fuzz(func(t *testing.T, raw string) {
		if rows, ok := parseRows(raw); ok {
			members, found := make(family).look(rows, 2)
			require.LessOrEqual(t, len(members), len(rows))
			require.Equal(t, pids(members), pids(found))
		}
	})
}
