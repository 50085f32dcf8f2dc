package stdio

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// isBatch holds elements against encoding/json.
func isBatch(t *testing.T, line []byte) {
	t.Helper()
	all, ok := elements(line)
	var want []json.RawMessage
	if !ok {
		if strings.HasPrefix(strings.TrimLeft(string(line), " \t\r\n"), "[") && strings.Count(string(line), "[") <= maxDepth {
			require.Error(t, json.Unmarshal(line, &want), "%q", line)
		}
		return
	}
	require.NoError(t, json.Unmarshal(line, &want), "%q", line)
	var got []json.RawMessage
	for element := range all {
		got = append(got, element)
	}
	require.Len(t, got, len(want), "%q", line)
	for i := range want {
		require.Equal(t, string(want[i]), string(got[i]), "%q", line)
	}
}

func TestElements(t *testing.T) {
	for line, want := range map[string][]string{
		`[]`:                                   nil,
		" [ ]\t":                               nil,
		`[1]`:                                  {"1"},
		` [ {"a":[1,2]} , "],[" ,null, [ ] ] `: {`{"a":[1,2]}`, `"],["`, "null", "[ ]"},
	} {
		all, ok := elements([]byte(line))
		require.True(t, ok, line)
		var got []string
		for element := range all {
			got = append(got, string(element))
		}
		require.Equal(t, want, got, line)
		isBatch(t, []byte(line))
	}
	for _, line := range []string{``, `{}`, `[`, `]`, `[1`, `[1,]`, `[,1]`, `[1 2]`, `[1]]`, `[1]x`, `["a]`, `[nul]`, `1`, "\ufeff[1]"} {
		_, ok := elements([]byte(line))
		require.False(t, ok, line)
		isBatch(t, []byte(line))
	}
}

// Whoever has enough of a batch can leave it.
func TestElementsEndEarly(t *testing.T) {
	all, ok := elements([]byte(`[1,2,3]`))
	require.True(t, ok)
	for element := range all {
		require.Equal(t, "1", string(element))
		break
	}
}

// A message may nest as deep in a batch as alone, and no deeper.
func TestElementsAreAsDeepAsMessages(t *testing.T) {
	for depth, is := range map[int]bool{maxDepth: true, maxDepth + 1: false, 100_000: false} {
		_, ok := elements([]byte("[1," + deep(depth) + "]"))
		require.Equal(t, is, ok, depth)
	}
}

// However many there are, they cost no memory.
func TestElementsAreFree(t *testing.T) {
	line := []byte("[" + strings.Repeat("{},", 10_000) + "1]")
	allocs := testing.AllocsPerRun(10, func() {
		all, _ := elements(line)
		n := 0
		for range all {
			n++
		}
		if n != 10_001 {
			t.Error(n)
		}
	})
	require.LessOrEqual(t, allocs, 3.0)
}
