package stdio

import (
	"context"
	"log/slog"
	"time"
)

// unreadyRung is what a server that never became ready gets for each rung. It is
// not zero: a wrapper such as `docker run` needs a moment to take its container
// down, and nobody waits long for it.
const unreadyRung = 200 * time.Millisecond

// shutdown begins the ladder: end of file, SIGTERM, SIGKILL (MCP 2025-11-25,
// Lifecycle, Shutdown, stdio). It does not wait, and only its first call counts.
func (c *conn) shutdown() {
	c.stopOnce.Do(func() {
		close(c.stopping)
		go c.ladder()
	})
}

// fail ends the server for a reason of ours, at once.
func (c *conn) fail(reason error) {
	c.blame(reason)
	c.hurry()
	c.shutdown()
}

func (c *conn) ladder() {
	c.starting.Lock() // or the child that is being started would be missed
	ch := c.current.Load()
	c.starting.Unlock()
	rung, termRung := c.rung, c.termRung
	if !c.handshake.isReady() {
		rung, termRung = min(rung, unreadyRung), min(termRung, unreadyRung)
	}
	if c.hurried.Err() == nil {
		c.events.rung("end of file", slog.LevelInfo)
	}
	ch.writer.close() // end of file, even to a server that has never read
	if c.climbs(ch, rung) {
		return
	}
	if hasTerm && c.hurried.Err() == nil {
		c.events.rung("SIGTERM", slog.LevelInfo)
		go ch.proc.Stop(context.Background()) // SIGTERM; returns with the tree
		if c.climbs(ch, termRung) {
			return
		}
	}
	c.killed.Store(true) // before the kill, whose effect asks for it
	c.events.rung("SIGKILL", slog.LevelWarn)
	ch.proc.Kill()
}

// climbs reports whether the tree is gone by the end of a rung.
func (c *conn) climbs(ch *child, rung time.Duration) bool {
	ctx, cancel := context.WithTimeout(c.hurried, rung)
	defer cancel()
	select {
	case <-ch.proc.Done():
		return true
	case <-ctx.Done():
		return false
	}
}
