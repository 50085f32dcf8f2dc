package stdio_test

import (
	"errors"
	"os/exec"
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

// A reply that is too long, a flood of junk, and a death are three errors at the call:
// none of them can be taken for another.
func TestFaultsOfACallAreToldApart(t *testing.T) {
	exit := func(err error) bool { return errors.As(err, new(*exec.ExitError)) }
	for name, c := range map[string]struct {
		command           func() *exec.Cmd
		tool              string
		long, noise, dead bool
	}{
		"reply of 80 MB": {func() *exec.Cmd { return servers.Command("bulky") }, "80000000", true, false, false},
		"junk":           {func() *exec.Cmd { return servers.Command("flooder", "call") }, "ping", false, true, false},
		"death":          {func() *exec.Cmd { return servers.Command("crasher") }, "ping", false, false, true},
	} {
		for via, connect := range connectors {
			t.Run(name+"/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, c.command(), atKILL)
				session, err := connect(t.Context(), transport)
				require.NoError(t, err)
				defer session.Close()
				err = bounded(t, "the call", func() error {
					_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool})
					return err
				})
				w.Gone(t)
				require.Equal(t, c.long, errors.Is(err, stdio.ErrLineTooLong), err)
				require.Equal(t, c.noise, errors.Is(err, stdio.ErrNoise), err)
				require.Equal(t, c.dead, exit(err), err)
				var typed *stdio.Error
				require.ErrorAs(t, err, &typed)
				require.Equal(t, stdio.PhaseRunning, typed.Phase)
				if c.dead {
					require.Equal(t, 3, typed.Exit.ExitCode())
				}
			})
		}
	}
}
