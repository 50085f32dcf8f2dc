package procgroup

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// After the reap the number may be anybody's: the tree is asked for nothing more, by
// no method.
func TestNothingIsAskedOfATreeThatWasReaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := newFake(2, map[string]func(*fakeTree){os.Kill.String(): allGo})
		go g.own(context.Background())
		require.NoError(t, g.Kill())
		done := len(f.log)
		f.members = append(f.members, proctable.Process{PID: 1 << 30}) // whoever has the number now
		require.NoError(t, g.Signal(syscall.SIGHUP))
		require.NoError(t, g.Signal(os.Kill))
		require.NoError(t, g.Stop(context.Background()))
		require.NoError(t, g.Kill())
		require.ErrorIs(t, g.cancel(), os.ErrProcessDone)
		members, err := g.Members()
		require.NoError(t, err)
		require.Empty(t, members)
		require.Len(t, f.log, done, f.log)
		require.Equal(t, "release", f.log[done-1])
	})
}
