package stdio

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

const wholeMessage = `{"jsonrpc":"2.0","id":1,"result":{}}`

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
	line := []byte(`{"jsonrpc":"2.0","result":{"a":"it is the most that is in the line"},"id":1}`)
	for _, owned := range []bool{true, false} {
		msg, err := decode(line, owned)
		require.NoError(t, err)
		result := msg.(*jsonrpc.Response).Result
		require.Equal(t, owned, &result[0] == &line[strings.Index(string(line), `{"a"`)])
		if owned {
			require.Equal(t, len(result), cap(result))
		}
	}

	line = []byte(`{"jsonrpc":"2.0","result":{"a":1},"id":1,"padding":"` + strings.Repeat("x", 100) + `"}`)
	msg, err := decode(line, true)
	require.NoError(t, err)
	clear(line)
	require.Equal(t, `{"a":1}`, string(msg.(*jsonrpc.Response).Result), "a small part holds no large line")
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
