//go:build unix

package stdio_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

const mib = 1 << 20

// live is what the collector leaves of the heap.
func live() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // a sync.Pool holds on for one round
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// peak is what heap and stacks have ever taken from the system, garbage included:
// what they have given back is still counted.
func peak() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapSys + m.StackSys)
}

// requireMemory fails if f costs this process more than it may: so much at the end,
// so much at any time. A process that has grown by a gibibyte is ended: the machine
// shall not feel a bound that is missing.
func requireMemory(t *testing.T, mostLive, mostPeak int, f func()) {
	t.Helper()
	debug.SetGCPercent(100)
	liveBefore, peakBefore := live(), peak()
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				if peak() > peakBefore+1024*mib {
					fmt.Println("this process grows without end")
					os.Exit(1)
				}
			}
		}
	}()
	f()
	close(done)
	<-watched
	t.Logf("live: %d KiB, peak: %d KiB", (live()-liveBefore)>>10, (peak()-peakBefore)>>10)
	// What has ended may still be about to go.
	poll(t, "too much is kept", func() bool { return live() <= liveBefore+mostLive })
	require.LessOrEqual(t, peak()-peakBefore, mostPeak)
}

// Whatever a server writes before it answers, the host keeps little of it.
func TestMemoryOfTheHost(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	blocks := writerFunc(func(p []byte) (int, error) { <-release; return len(p), nil })
	slow := writerFunc(func(p []byte) (int, error) { // 4 MB in a second
		time.Sleep(time.Duration(len(p)) * 250 * time.Nanosecond)
		return len(p), nil
	})
	long := []string{"4096", "65516"} // 256 MiB
	const any = 1024                  // it is garbage, and the collector's time
	for name, c := range map[string]struct {
		command    *exec.Cmd
		stderr     io.Writer
		is         error // of Connect; nil: all is well with the server
		live, peak int   // at most, in MiB
	}{
		"line without an end":         {servers.Command("endless"), nil, stdio.ErrLineTooLong, 24, 128},
		"noise without an end":        {servers.Command("flooder"), nil, stdio.ErrNoise, 4, any},
		"long noise without an end":   {servers.Command("flooder", "1000000"), nil, stdio.ErrNoise, 4, any},
		"stderr":                      {servers.Command("wailer", long...), nil, nil, 4, 32},
		"stderr to a slow writer":     {servers.Command("wailer", long...), slow, nil, 8, any},
		"stderr to one that blocks":   {servers.Command("wailer", long...), blocks, nil, 8, 32},
		"100000 brackets":             {servers.Command("chatterbox", strings.Repeat("[", 100_000)+"\n"), nil, nil, 4, 32},
		"25000 objects in each other": {servers.Command("chatterbox", strings.Repeat(`{"a":`, 25_000)+"\n"), nil, nil, 4, 32},
	} {
		t.Run(name, func(t *testing.T) {
			if !alone(t) {
				return
			}
			transport, w := zoo(t, c.command, atTERM)
			transport.Stderr = c.stderr
			transport.HandshakeTimeout = 40 * time.Second
			var session *stdio.Session
			requireMemory(t, c.live*mib, c.peak*mib, func() {
				var err error
				session, err = stdio.Connect(t.Context(), newClient(), transport, nil)
				require.ErrorIs(t, err, c.is)
				if err == nil {
					require.NoError(t, call(session))
				}
			})
			runtime.KeepAlive(transport)
			if session != nil {
				require.NoError(t, session.Close())
			}
			w.Gone(t)
		})
	}
}

// Noise between messages, each time too little to be a flood, does not add up.
func TestMemoryOfNoiseThatGoesOn(t *testing.T) {
	if !alone(t) {
		return
	}
	transport, w := zoo(t, servers.Command("chatterbox", strings.Repeat("=", 100_000)+"\n"), atTERM)
	session := connect(t, transport)
	requireMemory(t, 4*mib, 1024*mib, func() {
		for range 500 { // 50 MB
			require.NoError(t, call(session))
		}
	})
	require.NoError(t, session.Close())
	w.Gone(t)
}

// A million notifications that nobody reads stay with the server, which Stop ends.
func TestMemoryOfWhatNobodyReads(t *testing.T) {
	if !alone(t) {
		return
	}
	transport, w := zoo(t, servers.Command("herald"), atTERM)
	taken := make(chan struct{})
	tell := sync.OnceFunc(func() { close(taken) })
	transport.Stderr = writerFunc(func(p []byte) (int, error) { tell(); return len(p), nil })
	requireMemory(t, 8*mib, 32*mib, func() {
		_, err := transport.Connect(t.Context())
		require.NoError(t, err)
		w.Await(t, "herald")
		select {
		case <-taken:
			t.Error("ten thousand messages were taken")
		case <-time.After(time.Second):
		}
		err = bounded(t, "Stop", func() error { return transport.Stop(t.Context()) })
		if err != nil { // it was never ready, and has little time for SIGTERM
			require.ErrorIs(t, err, stdio.ErrKilled)
		}
	})
	w.Gone(t)
}
