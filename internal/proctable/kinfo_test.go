package proctable

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// kinfo builds one row. The bytes that nobody reads are not zero.
func kinfo(pid, ppid, pgid, sid int, stat byte, flag, sec, usec uint64) []byte {
	row := make([]byte, kiSize)
	for i := range row {
		row[i] = 0xa5
	}
	put32 := func(at, v int) { binary.NativeEndian.PutUint32(row[at:], uint32(v)) }
	put32(0, kiSize)
	put32(72, pid)
	put32(76, ppid)
	put32(80, pgid)
	put32(88, sid)
	binary.NativeEndian.PutUint64(row[336:], sec)
	binary.NativeEndian.PutUint64(row[344:], usec)
	binary.NativeEndian.PutUint64(row[368:], flag)
	row[388] = stat
	return row
}

func TestParseKinfo(t *testing.T) {
	const boot = 1_700_000_000_250_000
	raw := kinfo(11, 0, 0, 0, 3, 0x10000204, 1_700_000_000, 250_000)
	raw = append(raw, kinfo(4711, 815, 4700, 4700, 3, 0x10004000, 1_700_000_007, 1)...)
	raw = append(raw, kinfo(99998, 4711, 4700, 4700, 5, 0x10004000, 1_700_000_008, 250_000)...)

	all, err := parseKinfo(raw, boot)
	require.NoError(t, err)
	require.Equal(t, []Process{
		{PID: 11, State: Sleeping, kernel: true},
		{PID: 4711, PPID: 815, PGID: 4700, SID: 4700, State: Sleeping, Start: 6_750_001},
		{PID: 99998, PPID: 4711, PGID: 4700, SID: 4700, State: Zombie, Start: 8_000_000},
	}, all)
	require.Equal(t, []Process{all[2]}, Descendants(all, 4711))
}

func TestParseKinfoSameProcessAfterClockStep(t *testing.T) {
	const hour = 3600
	before, err := parseKinfo(kinfo(7, 1, 7, 7, 2, 0, 1_000_000, 5), 900_000*1e6)
	require.NoError(t, err)
	after, err := parseKinfo(kinfo(7, 1, 7, 7, 2, 0, 1_000_000+hour, 5), (900_000+hour)*1e6)
	require.NoError(t, err)
	require.Equal(t, before[0].ID(), after[0].ID())
}

func TestParseKinfoStates(t *testing.T) {
	for stat, want := range map[byte]State{
		1: Running, 2: Running, 3: Sleeping, 4: Stopped, 5: Zombie, 6: Sleeping, 7: Sleeping, 8: Unknown,
	} {
		all, err := parseKinfo(kinfo(7, 1, 7, 7, stat, 0, 1, 0), 0)
		require.NoError(t, err)
		require.Equal(t, want, all[0].State, "p_stat %d", stat)
	}
}

func TestParseKinfoRefusesWhatItDoesNotKnow(t *testing.T) {
	other := kinfo(7, 1, 7, 7, 2, 0, 1, 0)
	binary.NativeEndian.PutUint32(other, 768) // 32-bit x86
	for name, raw := range map[string][]byte{
		"another layout": other,
		"half a row":     kinfo(7, 1, 7, 7, 2, 0, 1, 0)[:500],
		"row and a half": append(kinfo(7, 1, 7, 7, 2, 0, 1, 0), make([]byte, 500)...),
	} {
		t.Run(name, func(t *testing.T) {
			all, err := parseKinfo(raw, 0)
			require.ErrorIs(t, err, ErrIncomplete)
			require.Empty(t, all)
		})
	}
	all, err := parseKinfo(nil, 0)
	require.NoError(t, err)
	require.Empty(t, all)
}
