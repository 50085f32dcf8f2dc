//go:build unix

package stdio_test

import (
	"context"
	"os"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// limitDescriptors bounds this process, which cannot take that back. No finalizer
// closes what was forgotten.
func limitDescriptors(t *testing.T) {
	t.Helper()
	debug.SetGCPercent(-1)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}))
}

// A host that may have 64 descriptors connects again and again to a server that
// says nonsense and then nothing: each time it gets an error, and its descriptors back.
func TestFailedConnectsWithFewDescriptors(t *testing.T) {
	if !alone(t) {
		return
	}
	limitDescriptors(t)
	connect := func(t *testing.T) {
		transport, w := zoo(t, servers.Command("babbler"), atEOF)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			w.Await(t, "babbler")
		}()
		_, err := stdio.Connect(ctx, newClient(), transport, nil)
		require.ErrorIs(t, err, context.Canceled)
		var typed *stdio.Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, stdio.PhaseHandshake, typed.Phase)
		w.Gone(t)
	}
	t.Run("first", connect) // what the first use opens for good
	files := descriptors(t)
	rounds := 200
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		if !t.Run("again", connect) {
			return
		}
	}
	poll(t, "descriptors are left", func() bool { return descriptors(t) <= files })
}

// Where there are no descriptors, or too few, Connect says so and leaves nothing; as
// soon as there are enough, it works. So it is in a host that has connected before,
// and in one that has not.
func TestConnectWithoutDescriptors(t *testing.T) {
	for name, before := range map[string]int{"at first": 0, "later": 1} {
		t.Run(name, func(t *testing.T) {
			if !alone(t) {
				return
			}
			w := servers.NewWitness(t) // it also opens what the runtime needs for good
			connect := func() error {
				transport := &stdio.Transport{Command: w.Watch(servers.Command("ordinary")), TerminateDuration: long}
				session, err := stdio.Connect(t.Context(), newClient(), transport, nil)
				if err != nil {
					return err
				}
				require.NoError(t, call(session))
				return session.Close()
			}
			for range before {
				require.NoError(t, connect())
			}
			w.Gone(t)
			files := descriptors(t)
			limitDescriptors(t)
			failed := 0
			for free := 0; free < 32; free++ {
				rest := exhaust(t, free)
				err := connect()
				closeFiles(rest)
				w.Gone(t)
				if err == nil {
					break
				}
				failed++
				var typed *stdio.Error
				require.ErrorAs(t, err, &typed, "%d are free", free)
				require.ErrorIs(t, err, syscall.EMFILE, "%d are free", free)
				t.Logf("%d free: %v", free, err)
				poll(t, "descriptors are left", func() bool { return descriptors(t) <= files })
			}
			require.Positive(t, failed)
			require.NoError(t, connect())
			poll(t, "descriptors are left", func() bool { return descriptors(t) <= files })
		})
	}
}

// exhaust opens files until no more than some can be opened.
func exhaust(t *testing.T, but int) (open []*os.File) {
	t.Helper()
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			require.ErrorIs(t, err, syscall.EMFILE)
			closeFiles(open[:but])
			return open[but:]
		}
		open = append(open, f)
	}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
