package stdio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tail is bounded while it grows, and not only when it is asked for.
func TestTailIsBounded(t *testing.T) {
	var tail tail
	var want strings.Builder
	for i := range 100_000 {
		line := fmt.Sprintf("line %d\n", i)
		want.WriteString(line)
		n, err := tail.Write([]byte(line))
		require.NoError(t, err)
		require.Equal(t, len(line), n)
		require.LessOrEqual(t, len(tail.buf), 2*tailSize)
	}
	require.Less(t, cap(tail.buf), 4*tailSize)
	require.Equal(t, want.String()[want.Len()-tailSize:], tail.String())

	tail.Write(make([]byte, 10*tailSize)) // more than fits, at once
	require.Equal(t, string(make([]byte, tailSize)), tail.String())
}
