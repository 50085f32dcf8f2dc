package procgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// reap collects the leader's status and lets its number go. A leader that has not
// ended, because it could not be killed or a debugger holds its status, is reaped
// whenever that changes, so that not even a zombie stays.
func (g *Group) reap() {
	exited := g.tree.exited()
	bound := killBound // the table may tell of the zombie before the watch does
	if g.stopErr != nil {
		bound = 0
	}
	select {
	case <-exited:
		g.closePipes, g.waitErr = g.collect()
	case <-time.After(bound):
		g.closePipes, g.waitErr = func() {}, g.stopErr
		if g.waitErr == nil {
			g.waitErr = ErrStatusUnknown
		}
		go func() {
			<-exited
			g.collect()
		}()
	}
}

// collect returns what is left of cmd.Wait's work, and the leader's result.
func (g *Group) collect() (closePipes func(), result error) {
	g.pinned.Lock()
	g.reaped = true // no signal from here on: the number is about to be given away
	g.pinned.Unlock()
	defer g.tree.release()

	closePipes = func() {}
	if pipeInUse(g.cmd.Stdout) || pipeInUse(g.cmd.Stderr) {
		closePipes, result = g.reapOnly()
	} else {
		result = g.waitAll()
	}
	if errors.Is(result, syscall.ECHILD) {
		result = ErrStatusUnknown
	}
	if lost := g.tree.lost(); lost != nil && result != nil {
		result = fmt.Errorf("procgroup: %w: %w", lost, result)
	}
	return closePipes, result
}

// reapOnly is for users of StdoutPipe: cmd.Wait would close the read end under the
// reader's hands, so the rest of it is left to the caller of Wait.
func (g *Group) reapOnly() (closePipes func(), result error) {
	state, err := g.cmd.Process.Wait()
	if result = err; err == nil && !state.Success() {
		result = &exec.ExitError{ProcessState: state}
	}
	return sync.OnceFunc(func() {
		g.cmd.Wait() // its error only says that the process was waited for
		g.cmd.ProcessState = state
	}), result
}

// waitAll is cmd.Wait, which waits without bound for the callers' own readers and
// writers, and for a Cancel function that does not return.
func (g *Group) waitAll() error {
	waited := make(chan error, 1)
	go func() { waited <- g.cmd.Wait() }()
	select {
	case err := <-waited:
		return err
	case <-time.After(copyBound):
		return exec.ErrWaitDelay
	}
}

// pipeInUse reports whether w is the child's end of a pipe made by
// exec.Cmd.StdoutPipe or StderrPipe: the only *os.File there that Cmd.Start
// closes.
func pipeInUse(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || f == nil {
		return false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Control(func(uintptr) {}) != nil
}
