package stdio

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// SetTermRung gives the rung of SIGTERM a length of its own.
func SetTermRung(t *Transport, d time.Duration) { t.termRung = d }

// SetProbeTimeout makes the wait for the answer to the probe shorter.
func SetProbeTimeout(t *Transport, d time.Duration) { t.probeTimeout = d }

// SetStall makes the patience with a server that does not read shorter.
func SetStall(t *Transport, d time.Duration) { t.stall = d }

// Crashed reports whether the end of the server was seen before anybody asked it
// to end.
func Crashed(t *Transport) bool { return t.connection().current.Load().crashed.Load() }

// Pending returns how many calls wait for an answer.
func Pending(t *Transport) int { return t.connection().pending.len() }

// Writing reports whether somebody has the turn to write.
func Writing(t *Transport) bool { return len(t.connection().current.Load().writer.turn) == 1 }

func (t *Transport) connection() *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conn
}

// hasFailed reports whether a write has failed.
func (w *writer) hasFailed() bool {
	w.turn <- struct{}{}
	defer w.yield()
	return w.broken
}

// Unprotected returns t with the protection off: the server alone is signalled,
// as os/exec does. A kill test that passes with it proves nothing.
func Unprotected(t *Transport) *Transport {
	t.start = func(_ context.Context, cmd *exec.Cmd) (process, error) {
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		p := &plainProcess{cmd: cmd, done: make(chan struct{})}
		go func() {
			p.err = cmd.Wait()
			close(p.done)
		}()
		return p, nil
	}
	return t
}

type plainProcess struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

func (p *plainProcess) Pid() int              { return p.cmd.Process.Pid }
func (p *plainProcess) Done() <-chan struct{} { return p.done }

func (p *plainProcess) Exited() <-chan struct{} { return p.done }

func (p *plainProcess) Wait() error {
	<-p.done
	return p.err
}

func (p *plainProcess) Stop(context.Context) error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.done
	return nil
}

func (p *plainProcess) Kill() error {
	p.cmd.Process.Kill()
	<-p.done
	return nil
}
