package stdio

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes messages that are mostly right.
type generator struct{ *rand.Rand }

func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) message() []byte {
	var members []string
	add := func(name string, values ...string) {
		if g.oneIn(20) {
			name = g.pick(strings.ToUpper(name), `\u00`+fmt.Sprintf("%02x", name[0])+name[1:], name+`\u0000`, name+"\x7f", name[1:])
		}
		members = append(members, g.space()+`"`+name+`"`+g.space()+":"+g.space()+g.pick(values...)+g.space())
	}
	version, text := `"2.0"`, g.text()
	for !g.oneIn(50) {
		add("jsonrpc", version, version, version, version, version, version, version, g.value(3))
		break
	}
	for !g.oneIn(4) {
		add("id", "1", "23", "-4", `"five"`, text, g.number(), g.value(2))
		if !g.oneIn(20) {
			break
		}
	}
	if g.oneIn(2) {
		add("method", `"tools/call"`, `"notifications/message"`, `""`, text, g.value(2))
		add("params", g.value(4))
	}
	for g.oneIn(2) {
		add("result", g.value(4))
	}
	for g.oneIn(4) {
		add("error", "null", g.value(3), `{"code":`+g.number()+`,"message":`+g.text()+`,"data":`+g.value(2)+`}`)
	}
	for g.oneIn(4) {
		add(g.pick("x", "params", "é", "jsonrpc2"), g.value(3))
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return []byte(g.space() + "{" + strings.Join(members, ",") + "}" + g.space())
}

// mutated breaks a message here and there, or else returns it as it is.
func (g generator) mutated(line []byte) []byte {
	for g.oneIn(3) && len(line) > 0 {
		i := g.IntN(len(line))
		switch g.IntN(5) {
		case 0:
			line = append(line[:i:i], line[i+1:]...)
		case 1:
			line = line[:i]
		case 2:
			line[i] = byte(g.IntN(256))
		default:
			with := g.pick(`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, "0", ".", "e", "-", " ", "\n", "\x00", "\xff", "null", g.text())
			line = append(line[:i:i], append([]byte(with), line[i:]...)...)
		}
	}
	return line
}

func (g generator) space() string {
	if !g.oneIn(8) {
		return ""
	}
	if g.oneIn(100) {
		return g.pick("\f", "\v", "\u00a0")
	}
	return g.pick(" ", "\t", "\r", "\n", "  \t ")
}

func (g generator) number() string {
	if g.oneIn(30) {
		return g.pick("01", "1.", "-", "0x1", "+1", ".5", "1e+", "NaN", "1e999")
	}
	return g.pick("0", "-0", "7", "-12", "1.5", "1e3", "-2.50E-2", "123456789012345", "1234567890123456", "99999999999999999999")
}

func (g generator) literal() string {
	if g.oneIn(30) {
		return g.pick("nil", "True", "tru", "undefined", "")
	}
	return g.pick("true", "false", "null")
}

func (g generator) text() string {
	var b strings.Builder
	for !g.oneIn(6) {
		b.WriteString(g.pick("a", "some text", strings.Repeat("long ", g.IntN(30)), "é", "漢字", "\U0001f600", "\x7f",
			`\n`, `\"`, `\\`, `\/`, `\u00e9`, `\ud83d\ude00`, `\udc00`, "{", "[", ",", ":"))
		if g.oneIn(100) {
			b.WriteString(g.pick("\xff", "\xed\xa0\x80", "\t", "\x00", `\x`, `\u12`, `\`, `"`))
		}
	}
	return `"` + b.String() + `"`
}

func (g generator) value(depth int) string {
	kind := g.IntN(6)
	if depth == 0 {
		kind = g.IntN(4)
	}
	switch kind {
	case 0:
		return g.number()
	case 1:
		return g.literal()
	case 2, 3:
		return g.text()
	case 4:
		return g.list("[", "]", func() string { return g.value(depth - 1) })
	default:
		return g.list("{", "}", func() string { return g.text() + g.space() + ":" + g.space() + g.value(depth-1) })
	}
}

func (g generator) list(begin, end string, item func() string) string {
	var items []string
	for !g.oneIn(4) {
		items = append(items, g.space()+item()+g.space())
	}
	return begin + strings.Join(items, ",") + g.space() + end
}
