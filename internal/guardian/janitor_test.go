package guardian

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessages(t *testing.T) {
	m := Spare(1<<22, 1<<40+7)
	require.Len(t, m, messageSize)
	require.EqualValues(t, 1<<22, get64(m))
	require.Equal(t, uint64(1<<40+7), get64(m[8:]))
	require.Zero(t, get64(Dismiss()))
}

func TestInEnviron(t *testing.T) {
	for environ, want := range map[string]string{
		"A=1\x00B=2\x00": "2", "B=2": "2", "B=\x00": "", "B=2\x00B=3\x00": "2", "A=1\x00\x00B=2=3\x00": "2=3",
	} {
		got, found := inEnviron(environ, "B")
		require.True(t, found, "%q", environ)
		require.Equal(t, want, got)
	}
	for _, environ := range []string{"", "\x00", "BB=1\x00", "A=B=2", "B", "xB=1"} {
		_, found := inEnviron(environ, "B")
		require.False(t, found, "%q", environ)
	}
}

func TestInList(t *testing.T) {
	for _, list := range []string{"x", "x,y", "y,x", "y,x,z", ",x"} {
		require.True(t, inList(list, "x"), list)
	}
	for _, list := range []string{"", "xx", "y", "xx,yx", "x ,y"} {
		require.False(t, inList(list, "x"), list)
	}
}

func TestDescription(t *testing.T) {
	require.Equal(t, `pid 7  "sh" "-c" "a\x1b\"\\\x0a" "" "\xc3\xbc"`, describe(7, "sh\x00-c\x00a\x1b\"\\\n\x00\x00ü\x00"))
	require.Equal(t, "pid 7 ", describe(7, ""))
	require.Equal(t, "pid 7  ...", describe(7, strings.Repeat("x", 1<<20)))
	require.Less(t, len(describe(7, strings.Repeat(strings.Repeat("\x01", 199)+"\x00", 1000))), 1200)
}
