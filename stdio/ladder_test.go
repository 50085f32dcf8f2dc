package stdio

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeProcess ends at the rungs it is told to, for the order of things in time.
type fakeProcess struct {
	mu      sync.Mutex
	begin   time.Time
	log     []string
	endsAt  string
	done    chan struct{}
	once    sync.Once
	exited  chan struct{} // if not nil: of the leader, before done
	waitErr error         // of Wait
	killErr error         // of Kill
}

func newFakeProcess(endsAt string) *fakeProcess {
	return &fakeProcess{begin: time.Now(), endsAt: endsAt, done: make(chan struct{})}
}

// as makes p the process of t.
func (p *fakeProcess) as(t *Transport) *Transport {
	t.start = func(context.Context, *exec.Cmd) (process, error) { return p, nil }
	return t
}

func (p *fakeProcess) event(name string) {
	p.mu.Lock()
	p.log = append(p.log, time.Since(p.begin).String()+" "+name)
	p.mu.Unlock()
	if name == p.endsAt || name == "kill" {
		p.once.Do(func() { close(p.done) })
	}
}

func (p *fakeProcess) Pid() int { return 1 << 30 }
func (p *fakeProcess) Exited() <-chan struct{} {
	if p.exited != nil {
		return p.exited
	}
	return p.done
}
func (p *fakeProcess) Done() <-chan struct{}      { return p.done }
func (p *fakeProcess) Wait() error                { <-p.done; return p.waitErr }
func (p *fakeProcess) Stop(context.Context) error { p.event("term"); <-p.done; return nil }
func (p *fakeProcess) Kill() error                { p.event("kill"); return p.killErr }

func TestLadder(t *testing.T) {
	for name, c := range map[string]struct {
		endsAt   string
		ready    bool
		do       func(*conn)
		want     []string
		killed   bool
		duration time.Duration
	}{
		"SIGTERM":            {"term", true, (*conn).shutdown, []string{"2s term"}, false, 2 * time.Second},
		"stubborn":           {"", true, (*conn).shutdown, []string{"2s term", "4s kill"}, true, 4 * time.Second},
		"rungs that differ":  {"", true, func(c *conn) { c.termRung = time.Hour; c.shutdown() }, []string{"2s term", "1h0m2s kill"}, true, time.Hour + 2*time.Second},
		"stubborn, unready":  {"", false, (*conn).shutdown, []string{"200ms term", "400ms kill"}, true, 400 * time.Millisecond},
		"failed":             {"", true, func(c *conn) { c.fail(os.ErrInvalid) }, []string{"0s kill"}, true, 0},
		"hurried in the EOF": {"", true, func(c *conn) { c.shutdown(); <-time.After(time.Second); c.hurry() }, []string{"1s kill"}, true, time.Second},
		"hurried in TERM":    {"", true, func(c *conn) { c.shutdown(); <-time.After(3 * time.Second); c.hurry() }, []string{"2s term", "3s kill"}, true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if !hasTerm && strings.Contains(c.want[0], "term") {
				t.Skip("SKIPPED: no SIGTERM here")
			}
			synctest.Test(t, func(t *testing.T) {
				fake := newFakeProcess(c.endsAt)
				conn := newConn(fake.as(&Transport{Command: exec.Command("fake")}), time.Now())
				defer conn.hurry()
				conn.events = newEvents(conn.transport, conn.begin, conn.fail)
				ch, err := conn.launch(conn.transport.Command)
				require.NoError(t, err)
				defer ch.pipes.closeOurs()
				conn.current.Store(ch)
				conn.handshake.ready = c.ready
				c.do(conn)
				<-fake.done
				synctest.Wait()
				require.Equal(t, c.want, fake.log)
				require.Equal(t, c.killed, conn.killed.Load())
				require.Equal(t, c.duration, time.Since(fake.begin))
				_, err = ch.pipes.stdin.Write([]byte("x"))
				require.ErrorIs(t, err, os.ErrClosed, "end of file comes first")
			})
		})
	}
}
