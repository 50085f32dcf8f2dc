package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain words":      "plain words",
		"größe 日本":         "größe 日本",
		"a\nb\tc\r":        `a\nb\tc\r`,
		"\x1b[31mred\x1b":  `\x1b[31mred\x1b`,
		"a\u202eb\u2066c":  `a\u202eb\u2066c`,
		"bad \xff byte":    `bad \xff byte`,
		"real \ufffd sign": "real \ufffd sign",
		"\u200b":           `\u200b`,
		"\u0085\u2028":     `\u0085\u2028`,
	} {
		require.Equal(t, want, Clean(in, 100), "%q", in)
	}
	require.Equal(t, "12345", Clean("12345", 5))
	require.Equal(t, "12...", Clean("123456", 5))
	require.Equal(t, "日...", Clean("日本語", 8))
}

func TestLastLines(t *testing.T) {
	require.Equal(t, "b | c", LastLines("a\nb\n\n  c \n", 2, 100))
	require.Equal(t, "a", LastLines("a", 3, 100))
	require.Equal(t, "", LastLines("\n \n", 3, 100))
	require.Equal(t, "...6789", LastLines("0123456789", 3, 7))
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b\u202e\xff", 10)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 8 + most&0xfff
		out := Clean(s, most)
		if len(out) > most || !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q, %d: %q", s, most, out)
		}
	})
}
