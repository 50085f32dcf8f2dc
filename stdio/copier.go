package stdio

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// copierBytes is what is held for a writer that is slower than the server.
const copierBytes = 1 << 20

// copier hands bytes to a writer of the caller's, in a goroutine of its own: the
// writer may be slow, block for ever, panic, or end its goroutine, and neither the
// server nor the host may feel it.
type copier struct {
	to   io.Writer
	fail func(error)
	done chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	held    []byte
	dropped int
	closed  bool // nothing more comes
	broken  bool // nothing more is wanted
}

func newCopier(to io.Writer, fail func(error)) *copier {
	c := &copier{to: to, fail: fail, done: make(chan struct{})}
	c.changed = sync.NewCond(&c.mu)
	go c.run()
	return c
}

// put takes p, or as much of it as there is room for, and does not block.
func (c *copier) put(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return
	}
	room := min(len(p), copierBytes-len(c.held))
	if c.dropped > 0 {
		room = 0 // first the line that says so, or it would stand in the wrong place
	}
	c.held = append(c.held, p[:room]...)
	c.dropped += len(p) - room
	c.changed.Signal()
}

// close ends the copy when what is held was written.
func (c *copier) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Signal()
}

// take blocks until there is something to write, or nothing more will be.
func (c *copier) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.held) == 0 && c.dropped == 0 && !c.closed {
		c.changed.Wait()
	}
	out := c.held
	if c.dropped > 0 {
		out = fmt.Appendf(out, "\n[stdioguard: %d bytes of stderr left out]\n", c.dropped)
	}
	c.held, c.dropped = nil, 0
	return out
}

func (c *copier) run() {
	defer close(c.done)
	defer func() {
		c.mu.Lock()
		c.broken, c.held = true, nil
		c.mu.Unlock()
	}()
	isolated("writer for stderr", c.fail, func() {
		for out := c.take(); len(out) > 0; out = c.take() {
			if n, err := c.to.Write(out); err != nil || n < len(out) {
				return
			}
		}
	})
}

// copiers are those of one server.
type copiers []*copier

func (all copiers) put(p []byte) {
	for _, c := range all {
		c.put(p)
	}
}

func (all copiers) close() {
	for _, c := range all {
		c.close()
	}
}

// wait lets the writers finish, until the time is over or somebody is in a hurry.
func (all copiers) wait(overdue, hurried context.Context) {
	for _, c := range all {
		await(c.done, overdue, hurried)
	}
}
