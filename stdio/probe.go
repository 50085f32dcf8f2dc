package stdio

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/stdioguard/stdioguard/procgroup"
)

const (
	// probeBound is how long a server that has read server/discover may take to
	// answer it.
	probeBound = 5 * time.Second

	// probeTick is how often it is looked whether it has been read.
	probeTick = 100 * time.Millisecond
)

// probe is the request by which a client of 2026-07-28 finds out whether it talks
// to a server of its own time (MCP 2026-07-28, Versioning). Older servers ignore
// it, or end themselves; the transport then answers in their place that there is
// no such method, and the client goes on with initialize, as it does with all
// others.
type probe struct {
	timeout time.Duration

	mu       sync.Mutex
	id       jsonrpc.ID // the request that waits for its answer
	answered jsonrpc.ID // the one that was answered in the server's place
	settled  chan struct{}
}

// probeTimeout leaves time for the initialize that follows.
func probeTimeout(ctx context.Context, patience time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline))
	}
	return min(probeBound, patience/2)
}

// probed sees a request before it is written.
func (c *conn) probed(r *jsonrpc.Request) {
	if r.Method == methodDiscover && r.IsCall() && c.handshake.isFresh() {
		go c.awaitProbe(c.current.Load(), c.probe.begin(r.ID))
	}
}

// awaitProbe answers the probe when its time is over. That begins when the server
// has read it: until then it is starting, and a package runner that downloads
// it takes its time. Of a server that has ended, watch decides what becomes.
func (c *conn) awaitProbe(ch *child, settled <-chan struct{}) {
	tick := time.NewTicker(probeTick)
	defer tick.Stop()
	for read := time.Now(); ; {
		select {
		case <-settled:
			return
		case <-ch.proc.Exited():
			return
		case <-tick.C:
		}
		if hasUnread(ch.pipes.stdin) {
			read = time.Now()
		} else if time.Since(read) >= c.probe.timeout {
			if id, ok := c.probe.take(); ok {
				c.refuseProbe(id, fmt.Sprintf("not answered within %v", c.probe.timeout))
			}
			return
		}
	}
}

// begin makes id the request that waits. One before it becomes an ordinary call.
func (p *probe) begin(id jsonrpc.ID) (settled <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
	p.id, p.settled = id, make(chan struct{})
	return p.settled
}

func (p *probe) settle() {
	if p.id.IsValid() {
		p.id = jsonrpc.ID{}
		close(p.settled)
	}
}

// take settles the probe in the server's place: the caller answers it. It fails if
// it is settled, or was never sent.
func (p *probe) take() (id jsonrpc.ID, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.id.IsValid() {
		return id, false
	}
	id = p.id
	p.answered = id
	p.settle()
	return id, true
}

// heard sees an answer of the server's, or that the request was not sent, and
// reports whether it comes too late.
func (p *probe) heard(id jsonrpc.ID) (late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id.IsValid() && p.id == id {
		p.settle()
	}
	return p.answered.IsValid() && p.answered == id
}

// refuseProbe answers the probe as a server without it does.
func (c *conn) refuseProbe(id jsonrpc.ID, why string) {
	c.events.probeRefused(why)
	c.deliver(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound, Message: methodDiscover + ": " + why,
	}})
}

// startOnceMore starts the server again if it has died of the probe.
func (c *conn) startOnceMore(died *child) *child {
	if !c.diedOfProbe(died) {
		return nil
	}
	id, ok := c.probe.take()
	if !ok {
		return nil
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.isStopping() {
		return nil
	}
	spare := c.spare
	c.spare = nil
	ch, err := c.launch(spare)
	switch {
	case err == nil:
	case isContextError(err):
		c.blame(errLifetime)
		return nil
	default:
		c.blame(fmt.Errorf("ended at %s, and could not be started once more: %w", methodDiscover, err))
		return nil
	}
	c.adopt(ch)
	go c.refuseProbe(id, "the server ended, and was started once more")
	return ch
}

// diedOfProbe: it ended by itself, for the first time, when it had read the probe and
// nothing else was asked of it. Who ends before, of a missing key perhaps, would
// end again. What Leftovers keeps would be there twice.
func (c *conn) diedOfProbe(died *child) bool {
	return died.crashed.Load() && died.listened && died.writer.hasSentAll() && c.blamed() == nil &&
		c.spare != nil && c.pending.len() == 1 && c.transport.Group.Leftovers != procgroup.Keep
}
