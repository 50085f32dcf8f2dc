package stdio

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	if r.Method != methodDiscover || !r.IsCall() {
		return
	}
	settled := make(chan struct{})
	c.probe.take() // one at a time
	c.probe.mu.Lock()
	c.probe.id, c.probe.settled = r.ID, settled
	c.probe.mu.Unlock()
	go c.awaitProbe(c.current.Load(), settled)
}

// awaitProbe answers the probe when its time is over. That begins when the server
// has read it: until then it is starting, and a package runner that downloads
// it takes its time.
func (c *conn) awaitProbe(ch *child, settled <-chan struct{}) {
	tick := time.NewTicker(probeTick)
	defer tick.Stop()
	for read := time.Now(); ; {
		select {
		case <-settled:
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

// take settles the probe in the server's place. It fails if it is settled, or was
// never sent.
func (p *probe) take() (id jsonrpc.ID, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.id.IsValid() {
		return id, false
	}
	id, p.id = p.id, jsonrpc.ID{}
	p.answered = id
	close(p.settled)
	return id, true
}

// heard sees an answer of the server's, and reports whether it comes too late.
func (p *probe) heard(id jsonrpc.ID) (late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id.IsValid() && p.id == id {
		p.id = jsonrpc.ID{}
		close(p.settled)
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

// startOnceMore starts the server again if it has died of the probe: by itself,
// having read it, with nothing said to it. Who died before, of a missing key
// perhaps, would die again.
func (c *conn) startOnceMore(died *child) *child {
	if !died.crashed.Load() || !died.listened || c.blamed() != nil {
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
	ch, err := c.launch(c.spare)
	if err != nil {
		c.blame(fmt.Errorf("ended at %s, and could not be started once more: %w", methodDiscover, err))
		return nil
	}
	c.adopt(ch)
	go c.refuseProbe(id, "the server ended, and was started once more")
	return ch
}
