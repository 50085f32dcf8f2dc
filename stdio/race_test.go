//go:build unix

package stdio

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/testdata/servers"
)

// everythingAtOnce does to one connection all that can be done to it, from many
// goroutines: calls, some of which are given up as their replies come, Close,
// Stop, and kill.
func everythingAtOnce(t *testing.T, round int, transport *Transport, kill func(*conn)) {
	session, err := Connect(t.Context(), newTestClient(), transport, nil)
	require.NoError(t, err)
	start := make(chan struct{})
	var all sync.WaitGroup
	do := func(f func()) {
		all.Go(func() {
			<-start
			f()
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range 3 {
		do(func() { callTool(context.Background(), session) })
		do(func() { callTool(ctx, session) })
	}
	do(cancel)
	do(func() { session.Wait() })
	do(func() { transport.Err() })
	enders := []func(){
		func() { session.Close() },
		func() { session.ClientSession.Close() },
		func() { transport.Stop(context.Background()) },
		func() { transport.Stop(ctx) },
		func() { kill(session.conn) },
	}
	// Not all of them each time: the quickest would always win.
	for i, end := range enders {
		if round%(1<<len(enders))>>i&1 == 1 {
			do(end)
		}
	}
	do(func() { session.Close() })
	close(start)
	all.Wait()
	require.Equal(t, session.Close(), transport.Err())
	if err := callTool(t.Context(), session); err == nil {
		t.Error("a call after the end has succeeded")
	}
	if e := new(Error); errors.As(transport.Err(), &e) {
		require.NotErrorIs(t, e, ErrHandshakeTimeout)
	}
}

func callTool(ctx context.Context, session *Session) error {
	_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "ping"})
	return err
}

func requireNoMoreGoroutinesThan(t *testing.T, baseline int) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for runtime.NumGoroutine() > baseline {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), baseline, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// Many rounds with a server in this process, which is quick, and fewer with a real
// one: no panic, no deadlock, and the goroutines are those from before.
func TestEverythingAtOnce(t *testing.T) {
	inside, outside := 1000, 64
	if testing.Short() {
		inside, outside = 100, 16
	}
	t.Run("server inside", func(t *testing.T) {
		baseline := runtime.NumGoroutine()
		for round := range inside {
			transport := inProcess{newFakeProcess("end of file"), false}.as(&Transport{Command: exec.Command("fake")})
			everythingAtOnce(t, round, transport, func(c *conn) { c.current.Load().proc.Kill() })
		}
		requireNoMoreGoroutinesThan(t, baseline)
	})
	t.Run("server outside", func(t *testing.T) {
		baseline := runtime.NumGoroutine()
		for round := range outside {
			transport := &Transport{Command: servers.Command("ordinary"), TerminateDuration: time.Minute}
			everythingAtOnce(t, round, transport, func(c *conn) { c.current.Load().proc.Kill() })
		}
		requireNoMoreGoroutinesThan(t, baseline)
	})
}
