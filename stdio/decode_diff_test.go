package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// agrees holds decode against the law, jsonrpc.DecodeMessage.
func agrees(t *testing.T, line []byte) {
	t.Helper()
	want, wantErr := jsonrpc.DecodeMessage(line)
	for _, owned := range []bool{true, false} {
		in := bytes.Clone(line)
		got, err := decode(in, owned)
		if !owned {
			clear(in) // it must not matter any more
		}
		if wantErr != nil {
			require.Error(t, err, "%.2000q", line)
			require.Nil(t, got, "%.2000q", line)
			continue
		}
		require.NoError(t, err, "%.2000q", line)
		require.Equal(t, want, got, "%.2000q", line) // reflect.DeepEqual, the error of a response included
	}
}

// odd are the lines that somebody may one day get wrong.
var odd = []string{
	``, ` `, `null`, `true`, `1`, `""`, `[]`, `{}`, `{`, `}`, "\ufeff{}", `[` + wholeMessage + `]`,
	wholeMessage,
	wholeMessage + ` `, wholeMessage + `x`, wholeMessage + wholeMessage, "\t\n\r " + wholeMessage, "\v" + wholeMessage, "\x00",
	`{"jsonrpc":"2.0","id":1}`,
	`{"jsonrpc":"2.0","id":1,}`,
	`{,"jsonrpc":"2.0","id":1}`,
	`{"jsonrpc":"2.0" "id":1}`,
	`{"jsonrpc":"2.0","id":1,"result":null}`,
	`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`,
	`{"jsonrpc":"2.0","id":1,"result":1,"result":2}`,
	`{"jsonrpc":"2.0","id":1,"id":null,"result":2}`,
	`{"jsonrpc":"2.0","id":1,"id":"x","method":"a"}`,
	`{"jsonrpc":"2.0","jsonrpc":null,"id":1}`,
	`{"jsonrpc":"1.0","jsonrpc":"2.0","id":1}`, `{"jsonrpc":1,"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1e400,"id":1}`,
	`{"jsonrpc":"2\u002e0","id":1}`,
	`{"jsonrpc":2.0,"id":1}`, `{"jsonrpc":null,"id":1}`, `{"id":1}`, `{"jsonrpc":"2.0 ","id":1}`,
	`{"jsonrpc":"2.0","\u0069d":1}`, `{"jsonrpc":"2.0","ID":1}`, `{"jsonrpc":"2.0","Id":1,"id":2}`,
	`{"jsonrpc":"2.0","id\u0000":1}`, "{\"jsonrpc\":\"2.0\",\"id\x00\":1,\"id\":1}", "{\"jsonrpc\":\"2.0\",\"id\xff\":1,\"id\":2}",
	`{"jsonrpc":"2.0","id":1.0}`, `{"jsonrpc":"2.0","id":1.5}`, `{"jsonrpc":"2.0","id":1e3}`, `{"jsonrpc":"2.0","id":1e400}`,
	`{"jsonrpc":"2.0","id":-0}`, `{"jsonrpc":"2.0","id":-7}`, `{"jsonrpc":"2.0","id":01}`, `{"jsonrpc":"2.0","id":+1}`,
	`{"jsonrpc":"2.0","id":999999999999999}`, `{"jsonrpc":"2.0","id":9223372036854775807}`, `{"jsonrpc":"2.0","id":-9223372036854775808}`,
	`{"jsonrpc":"2.0","id":9223372036854775808}`, `{"jsonrpc":"2.0","id":9007199254740993}`, `{"jsonrpc":"2.0","id":-99999999999999999999}`,
	`{"jsonrpc":"2.0","id":null,"method":"m"}`, `{"jsonrpc":"2.0","id":null}`, `{"jsonrpc":"2.0","id":true}`,
	`{"jsonrpc":"2.0","id":{},"method":"m"}`, `{"jsonrpc":"2.0","id":[1]}`, `{"jsonrpc":"2.0","id":""}`,
	`{"jsonrpc":"2.0","id":"a\nb"}`, `{"jsonrpc":"2.0","id":"\ud83d\ude00"}`, `{"jsonrpc":"2.0","id":"\ud83d"}`, `{"jsonrpc":"2.0","id":"é漢"}`,
	"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"\xed\xa0\x80\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"\x7f\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"\x1f\"}",
	`{"jsonrpc":"2.0","method":""}`, `{"jsonrpc":"2.0","method":null}`, `{"jsonrpc":"2.0","method":1}`, `{"jsonrpc":"2.0","method":["m"]}`,
	`{"jsonrpc":"2.0","method":"m"}`, `{"jsonrpc":"2.0","method":"m","params":null}`, `{"jsonrpc":"2.0","method":"a/é","params":[]}`,
	`{"jsonrpc":"2.0","method":"m","result":1,"error":{"code":1}}`, `{"jsonrpc":"2.0","method":"m","error":1}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":"a string"}`, "{\"jsonrpc\":\"2.0\",\"method\":\"m\xff\"}",
	`{"jsonrpc":"2.0","id":1,"error":{}}`, `{"jsonrpc":"2.0","id":1,"error":[]}`, `{"jsonrpc":"2.0","id":1,"error":"x"}`, `{"jsonrpc":"2.0","id":1,"error":false}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"a":[1]}}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"no"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":null,"message":null,"data":null}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":9223372036854775808}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":1},"error":{"message":"m"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1},"error":null}`,
	`{"jsonrpc":"2.0","id":1,"error":null,"error":{"code":1}}`, `{"jsonrpc":"2.0","id":1,"error":null,"error":null}`,
	`{"jsonrpc":"2.0","id":1,"result":{"a":"\u00zz"}}`, `{"jsonrpc":"2.0","id":1,"result":{"a":"\x"}}`, `{"jsonrpc":"2.0","id":1,"result":"\`,
	`{"jsonrpc":"2.0","id":1,"result":-}`, `{"jsonrpc":"2.0","id":1,"result":1.}`, `{"jsonrpc":"2.0","id":1,"result":.5}`, `{"jsonrpc":"2.0","id":1,"result":1e}`,
	`{"jsonrpc":"2.0","id":1,"result":[0.1e-2,-0,0e0,1E+9]}`, `{"jsonrpc":"2.0","id":1,"result":00}`, `{"jsonrpc":"2.0","id":1,"result":nul}`,
	`{"jsonrpc":"2.0","id":1,"result":[1,]}`, `{"jsonrpc":"2.0","id":1,"result":[,1]}`, `{"jsonrpc":"2.0","id":1,"result":{"a"}}`, `{"jsonrpc":"2.0","id":1,"result":{1:2}}`,
	`{"jsonrpc":"2.0","id":1,"result":}`, `{"jsonrpc":"2.0","id":1,"result"}`, `{"jsonrpc":"2.0","id":1,"result":"a`, `{"jsonrpc":"2.0","id":1,"result":[}`,
	`{ "jsonrpc" : "2.0" , "id" : 1 , "result" : { "a" : [ ] , "b" : { } } , "x" : [ true , false ] }`,
	`{"jsonrpc":"2.0","id":1,"":0,"x":{"id":2,"jsonrpc":3}}`, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\x01\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\tb\"}",
}

// deep returns a message that nests n levels.
func deep(n int) string { return nested(n, "[", "]") }

func nested(n int, begin, end string) string {
	return `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat(begin, n-2) + begin[:1] + strings.Repeat(end, n-1) + `}`
}

func TestDecodeAgreesOnOddLines(t *testing.T) {
	for _, line := range odd {
		agrees(t, []byte(line))
	}
	for _, n := range []int{2, 3, maxDepth - 1, maxDepth, maxDepth + 1, maxDepth + 2, 100_000} {
		agrees(t, []byte(deep(n)))
		agrees(t, []byte(nested(n, `{"a":`, "}")))
		agrees(t, []byte(`{"x":`+strings.Repeat(`[{"":`, n)))
		agrees(t, []byte(wholeMessage+strings.Repeat("[", n)))
	}
}

// Every byte in every kind of place.
func TestDecodeAgreesOnAnyByte(t *testing.T) {
	const here = "HERE"
	for _, frame := range []string{
		`HERE{"jsonrpc":"2.0","id":1,"result":1}`, `{HERE"jsonrpc":"2.0","id":1,"result":1}`, `{"jsonrpc"HERE:"2.0","id":1,"result":1}`,
		`{"jsonrpc":"2.0"HERE"id":1,"result":1}`, `{"jsonrpc":"2.0","id":1HERE,"result":1}`, `{"jsonrpc":"2.0","id":1,"result":HERE}`,
		`{"jsonrpc":"2.0","id":1,"result":1}HERE`, `{"jsonrpc":"2.0","id":1,"result":"HERE"}`, `{"jsonrpc":"2.0","id":1,"result":"\HERE"}`,
		`{"jsonrpc":"2.0","id":1,"result":"\u00HEREa"}`, `{"jsonrpc":"2.0","id":1,"result":-HERE}`, `{"jsonrpc":"2.0","id":1,"result":0HERE}`,
		`{"jsonrpc":"2.0","id":1,"result":1HERE2}`, `{"jsonrpc":"2.0","id":1,"result":1.HERE}`, `{"jsonrpc":"2.0","id":1,"result":1eHERE1}`,
		`{"jsonrpc":"2.0","id":1,"result":[HERE]}`, `{"jsonrpc":"2.0","id":1,"result":{HERE}}`, `{"jsonrpc":"2.0","id":1,"result":truHERE}`,
		`{"jsonrpc":"2.0","iHERE":1,"result":1}`, `{"jsonrpc":"2.0","id":"HERE"}`, `{"jsonrpc":"2.0","method":"HERE"}`,
	} {
		for c := range 256 {
			agrees(t, []byte(strings.Replace(frame, here, string([]byte{byte(c)}), 1)))
		}
	}
}

// DecodeMessage reads in pieces of 32 KiB, 64 KiB and so on: no token may have a
// different meaning at their edges.
func TestDecodeAgreesAtTheEdgesOfPieces(t *testing.T) {
	const head, tail = `{"jsonrpc":"2.0","result":{"x":"\`, `"","n":[-12.5e+3,true,null,"\u00e9\\"],"o":{"k\n":"é"}},"id":"a"} `
	for _, edge := range []int{32 << 10, 64 << 10} {
		for i := range len(tail) {
			agrees(t, []byte(head+strings.Repeat("x", edge-len(head)-i)[1:]+tail))
			agrees(t, []byte(head+strings.Repeat("/", edge-len(head)-i)+tail))
		}
	}
}

func TestDecodeAgreesOnAnything(t *testing.T) {
	const rounds = 5_000
	messages := 0
	for seed := range rounds {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 0))}
		line := g.mutated(g.message())
		agrees(t, line)
		if _, err := jsonrpc.DecodeMessage(line); err == nil {
			messages++
		}
	}
	require.Greater(t, messages, rounds/10, "too few of them are messages for the test to mean much")
	require.Less(t, messages, rounds*9/10, "too few of them are none")
}

// What is owned is kept and not copied, and nobody can append into what follows it.
func TestDecodeKeepsWhatIsOwned(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","result":{"a":1},"id":1}`)
	for _, owned := range []bool{true, false} {
		msg, err := decode(line, owned)
		require.NoError(t, err)
		result := msg.(*jsonrpc.Response).Result
		require.Equal(t, owned, &result[0] == &line[strings.Index(string(line), `{"a"`)])
		if owned {
			require.Equal(t, len(result), cap(result))
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range odd {
		f.Add([]byte(line))
	}
	for seed := range uint64(50) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		f.Add(g.message())
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		agrees(t, line)
		// The skipping knows JSON as encoding/json does, but for the depth.
		end := skipValue(line, skipSpace(line, 0), maxDepth)
		valid := end >= 0 && skipSpace(line, end) == len(line)
		if valid != json.Valid(line) && (valid || bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) <= maxDepth) {
			t.Fatalf("valid JSON: %v, %q", valid, line)
		}
		isBatch(t, line)
	})
}

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
