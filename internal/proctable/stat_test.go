//go:build linux

package proctable

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const rest = " S 10 20 30 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 100 18446744073709551615 0 0"

func TestParseStat(t *testing.T) {
	want := Process{PID: 7, PPID: 10, PGID: 20, SID: 30, State: Sleeping, Start: 4242}
	for _, name := range []string{"sh", "a b", "(", ")", ") S 1 1 1 (", "x\ny", "", "\xff"} {
		p, err := parseStat([]byte("7 (" + name + ")" + rest))
		require.NoError(t, err, name)
		require.Equal(t, want, p, name)
	}
	for _, bad := range []string{"", "7", "7 (sh", "7 sh)" + rest, "(sh)" + rest, "x (sh)" + rest, "7 (sh) S 10", "7 (sh) SS" + rest[2:], ")7 (" + rest} {
		_, err := parseStat([]byte(bad))
		require.ErrorIs(t, err, errStat, bad)
	}
}

// A process whose main thread has ended is a zombie by its state letter, but its
// other threads run on.
func TestZombieWithThreadsIsAlive(t *testing.T) {
	line := func(threads string) string {
		return "7 (sh) Z 10 20 30 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 " + threads + " 0 4242 0 0 0"
	}
	for threads, alive := range map[string]bool{"1": false, "2": true, "0": false} {
		p, err := parseStat([]byte(line(threads)))
		require.NoError(t, err)
		require.Equal(t, alive, p.Alive(), threads)
	}
}

func TestKernelThreadsCarryNothing(t *testing.T) {
	p, err := parseStat([]byte("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 0"))
	require.NoError(t, err)
	require.True(t, p.kernel)
	carries, err := Carrier(p, "any")
	require.NoError(t, err)
	require.Equal(t, No, carries)
}

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("7 () ) (sh)" + rest))
	f.Fuzz(func(t *testing.T, line []byte) {
		if p, err := parseStat(line); err == nil && p.State == "" {
			t.Errorf("%q: no state", line)
		}
	})
}
