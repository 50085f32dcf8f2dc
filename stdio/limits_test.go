//go:build unix

package stdio_test

import (
	"strconv"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// MaxLineLength is kept to the byte, and so is its default of 16 MiB. What is too
// long is told to the caller, and the server is ended.
func TestMaxLineLength(t *testing.T) {
	const byDefault = 16 << 20
	for name, c := range map[string]struct {
		limit   int
		fits    []int
		tooLong int // 0: nothing is
	}{
		"small":    {1000, []int{999, 1000}, 1001},
		"buffer":   {32 << 10, []int{32<<10 - 1, 32 << 10}, 32<<10 + 1},
		"pipe":     {64 << 10, []int{64<<10 - 1, 64 << 10}, 64<<10 + 1},
		"odd":      {100_000, []int{99_999, 100_000}, 100_001},
		"default":  {0, []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 5_000_000, byDefault}, byDefault + 1},
		"no limit": {-1, []int{1000, byDefault + 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, servers.Command("bulky"), atEOF)
			transport.MaxLineLength = c.limit
			session := connect(t, transport)
			get := func(size int) error {
				_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: strconv.Itoa(size)})
				return err
			}
			for _, size := range c.fits {
				require.NoError(t, get(size), size)
			}
			if c.tooLong == 0 {
				require.NoError(t, session.Close())
				return
			}
			require.ErrorIs(t, get(c.tooLong), stdio.ErrLineTooLong)
			w.Gone(t)
			require.ErrorIs(t, session.Close(), stdio.ErrLineTooLong)
		})
	}
}
