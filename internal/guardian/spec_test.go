package guardian

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpecArrivesAsItWasSent(t *testing.T) {
	for _, s := range []Spec{
		{Nonce: "n", Path: "/bin/sh", Argv: []string{"sh", "-c", "", "a b\n"}, Files: 3, SweepMillis: 250},
		{Nonce: "n", Path: "x", Argv: nil, Files: 9, KeepTerminal: true, Keep: true},
		{Nonce: "n", Path: "x", Argv: []string{strings.Repeat("y", 1<<20)}, Files: 3, Keep: true},
	} {
		wire := s.Encode()
		require.Equal(t, len(wire)-4, int(get32(wire)))
		got, ok := decodeSpec(wire[4:])
		require.True(t, ok)
		require.Equal(t, s, got)
		for _, cut := range []int{0, 3, 10, len(wire) - 5} {
			got, ok := decodeSpec(wire[4 : 4+cut])
			require.False(t, ok && len(got.Argv) == len(s.Argv), "cut at %d", cut)
		}
	}
}

func TestReportArrivesAsItWasSent(t *testing.T) {
	r := Report{Kind: Survivor, PID: 1 << 22, Errno: 1}
	require.Equal(t, r, Decode([ReportSize]byte(r.encode())))
}

func TestParseVar(t *testing.T) {
	fd, host, nonce, ok := parseVar("3 4711 abc")
	require.True(t, ok)
	require.Equal(t, []any{3, 4711, "abc"}, []any{fd, host, nonce})
	for _, bad := range []string{"", "3", "3 4711", "3 4711 ", "2 4711 abc", "x 1 a", "-3 1 a", "3 0 a", "99999999999 1 a", " 1 a"} {
		_, _, _, ok := parseVar(bad)
		require.False(t, ok, "%q", bad)
	}
}

func TestDecimal(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 10: "10", 4194304: "4194304"} {
		require.Equal(t, want, decimal(n))
	}
}

func FuzzSpec(f *testing.F) {
	f.Add(Spec{Nonce: "n", Path: "p", Argv: []string{"a"}, Files: 3}.Encode()[4:])
	f.Fuzz(func(t *testing.T, body []byte) {
		if s, ok := decodeSpec(body); ok {
			again, ok := decodeSpec(s.Encode()[4:])
			require.True(t, ok)
			require.Equal(t, s, again)
		}
	})
}
