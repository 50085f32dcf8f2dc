package stdio

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// BenchmarkDecode measures replies of 1 MiB, and a small one, whose shapes ask for
// different things: long strings, strings full of escapes, much structure.
func BenchmarkDecode(b *testing.B) {
	repeat := func(s string) string { return strings.Repeat(s, 1<<20/len(s)) }
	for name, result := range map[string]string{
		"small":    `{"content":[{"type":"text","text":"pong"}]}`,
		"text":     `"` + repeat("x") + `"`,
		"utf8":     `"` + repeat("漢字") + `"`,
		"newlines": `"` + repeat(strings.Repeat("x", 58)+`\n`) + `"`,
		"quotes":   `"` + repeat(`{\"a\":1,\"name\":\"some\"},`) + `"`,
		"numbers":  `[` + repeat("1,22,333.5,") + `0]`,
		"objects":  `[` + repeat(`{"a":1,"name":"some","ok":true},`) + `0]`,
		"spaces":   `[` + repeat("\t{\"a\": 1,  \"name\": \"some\", \"ok\": [ true ] },  ") + `0]`,
	} {
		line := []byte(`{"jsonrpc":"2.0","id":12,"result":` + result + `}`)
		b.Run(name+"/decode", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				decode(line, len(line) > smallBuffer)
			}
		})
		b.Run(name+"/DecodeMessage", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				jsonrpc.DecodeMessage(line)
			}
		})
	}
}
