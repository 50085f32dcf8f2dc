// Package text makes what a server wrote fit to be shown: on one line, bounded,
// and without anything that a terminal would act on.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s on one line: control characters, line ends, bidirectional
// marks, other format characters and invalid UTF-8 are written as Go escapes,
// and what goes beyond most bytes is replaced by an ellipsis.
func Clean(s string, most int) string {
	const ellipsis = "..."
	var b strings.Builder
	fit := 0 // what may stay if the ellipsis comes
	for i, r := range s {
		part := string(r)
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], part):
			part = `\x` + strconv.FormatUint(uint64(s[i])|0x100, 16)[1:]
		case !unicode.IsPrint(r):
			part = strconv.QuoteRune(r)
			part = part[1 : len(part)-1]
		}
		b.WriteString(part)
		if b.Len() > most {
			return b.String()[:fit] + ellipsis
		}
		if b.Len() <= most-len(ellipsis) {
			fit = b.Len()
		}
	}
	return b.String()
}

// LastLines returns the last n lines of s that are not blank, joined by " | " and
// cut at the front to at most bytes.
func LastLines(s string, n, most int) string {
	var last []string
	for len(s) > 0 && len(last) < n {
		i := strings.LastIndexByte(s, '\n')
		if line := strings.TrimSpace(s[i+1:]); line != "" {
			last = append([]string{line}, last...)
		}
		s = s[:max(i, 0)]
	}
	joined := strings.Join(last, " | ")
	if len(joined) > most {
		joined = "..." + strings.ToValidUTF8(joined[len(joined)-most+3:], "")
	}
	return joined
}
