package stdio

import (
	"context"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// child is one started process and what belongs to it alone. A connection has
// one, or, where the first died of the probe, two in turn.
type child struct {
	cmd    *exec.Cmd
	proc   process
	pipes  pipes
	writer *writer
	stdout *outlet
	lines  lines // cuts stdout
	stderr *outlet
	tail   tail
	noise  noise

	deaf     sync.Once     // it has closed its stdin
	crashed  atomic.Bool   // it ended before anybody asked it to
	listened bool          // at its end there was nothing left in its stdin; set by settle
	waitErr  error         // set by settle
	drained  chan struct{} // closed: nothing more comes out of its pipes
}

// launch starts cmd with pipes of ours.
func (c *conn) launch(cmd *exec.Cmd) (*child, error) {
	p, err := newPipes()
	if err != nil {
		return nil, err
	}
	ch := &child{
		cmd: cmd, pipes: p, writer: newWriter(p.stdin, c.stall, c.fail),
		stdout: &outlet{f: p.stdout}, stderr: &outlet{f: p.stderr},
		drained: make(chan struct{}),
	}
	ch.lines = newLines(ch.stdout, c.maxLine)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.childStdin, p.childStdout, p.childStderr
	if cmd.Cancel != nil {
		// procgroup kills the tree then; here the reason is noted.
		cmd.Cancel = func() error { c.blame(errLifetime); return nil }
	}
	// The lifetime of the tree is not the context of Connect, which bounds the
	// handshake only.
	ch.proc, err = c.start(context.Background(), cmd)
	p.closeChild()
	if err != nil {
		p.closeOurs()
		return nil, err
	}
	return ch, nil
}

// adopt makes ch the child of the connection and begins to read from it.
func (c *conn) adopt(ch *child) {
	c.current.Store(ch)
	c.events.spawned(ch)
	go func() {
		defer close(ch.drained)
		var stderr sync.WaitGroup
		stderr.Go(func() { c.drainStderr(ch) })
		defer stderr.Wait()
		c.readAll(ch)
	}()
}

// settle waits until the tree of ch is gone and its pipes are drained. It reports
// whether the client took all that was in them.
func (c *conn) settle(ch *child) (all bool) {
	<-ch.proc.Exited()
	ch.crashed.Store(!c.isStopping()) // whoever stops it from here on comes too late
	c.events.exited(ch)
	<-ch.proc.Done()
	ch.waitErr = ch.proc.Wait()
	ch.listened = !hasUnread(ch.pipes.stdin)

	// All that belonged to the tree has let go of the pipes. Who still holds
	// them is beyond our reach and must not keep us waiting, and neither must a
	// client that does not read.
	ch.writer.close()
	ch.stdout.finish()
	ch.stderr.finish()
	select {
	case <-ch.drained:
		return true
	case <-time.After(drainBound):
		return false
	}
}

// watch sees the children of the connection to their end, and ends it with the
// last of them.
func (c *conn) watch(ch *child) {
	for ch != nil {
		all := c.settle(ch)
		ch.pipes.closeOurs()
		var next *child
		if all {
			next = c.startOnceMore(ch)
		}
		if next == nil {
			c.end(ch)
		}
		ch = next
	}
}

// end makes known that the connection has ended, and why.
func (c *conn) end(ch *child) {
	c.handshake.disarm()
	c.giveUp()
	overdue, cancel := context.WithTimeout(context.Background(), drainBound)
	defer cancel()
	c.copied.close()
	c.copied.wait(overdue, c.hurried)

	c.endedAt = time.Now()
	c.cause = c.explain(ch)
	c.closeErr = c.verdict(c.cause)
	c.events.ended(c.cause, c.closeErr)
	await(c.events.done, overdue, c.hurried)
	c.hurry()
	close(c.ended)
}
