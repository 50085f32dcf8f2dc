package stdio

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where skipPlain stops decides what is looked at. It is right, and so is whoever
// does without it: only the speed would tell a mistake, so this does.
func TestSkipPlain(t *testing.T) {
	special := func(c byte) bool { return c < ' ' || c == '"' || c == '\\' }
	for c := range 256 {
		for before := range 100 {
			line := []byte(strings.Repeat("a", before) + string([]byte{byte(c)}) + "aaaaaaaaa\"")
			want := before
			if !special(byte(c)) {
				want = len(line) - 1
			}
			require.Equal(t, want, skipPlain(line, 0), "%q", line)
		}
	}
	for seed := range uint64(20_000) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		line := make([]byte, g.IntN(200))
		for i := range line {
			if line[i] = byte(g.IntN(256)); special(line[i]) && !g.oneIn(4) {
				line[i] = 0x80
			}
		}
		from := g.IntN(len(line) + 1)
		want := from
		for want < len(line) && !special(line[want]) {
			want++
		}
		require.Equal(t, want, skipPlain(line, from), "%q from %d", line, from)
	}
}

// The messages of an ordinary server are decoded without jsonrpc.DecodeMessage.
func TestUsualMessagesAreFast(t *testing.T) {
	for _, line := range []string{
		wholeMessage,
		`{"result":{"content":[{"type":"text","text":"a\n\"b\" \\ \u00e9 é 漢字"}],"isError":false},"jsonrpc":"2.0","id":"a-1"}`,
		`{"jsonrpc":"2.0","id":123456789,"result":{"a":[1,-2.5e-3,true,false,null,{},[]]},"error":null}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 0.5 } }` + "\r",
		`{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"messages":[]}}`,
		deep(maxDepth),
	} {
		m, ok := split([]byte(line))
		require.True(t, ok, line)
		require.NotNil(t, m.message(false), line)
		agrees(t, []byte(line))
	}
}
