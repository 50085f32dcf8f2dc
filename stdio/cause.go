package stdio

import (
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/stdioguard/stdioguard/procgroup"
)

// explain names what ended the server.
func (c *conn) explain(ch *child) *Error {
	waitErr := ch.waitErr
	e := c.newError(nil)
	var exit *exec.ExitError
	var survivors *procgroup.SurvivorsError
	if !errors.As(waitErr, &survivors) {
		e.Exit = ch.cmd.ProcessState
	}
	stopped := c.isStopping() && !ch.crashed.Load()
	switch reason := c.blamed(); {
	case reason != nil:
		e.Err = reason
	case stopped && c.killed.Load():
		e.Err = ErrKilled
	case stopped:
		e.Err = ErrClosed
	case errors.As(waitErr, &exit) && waitErr == error(exit):
		e.Err = exitError{exit}
	case waitErr != nil:
		e.Err = waitErr
	default:
		e.Err = errExited
	}
	if err := ch.proc.Kill(); errors.As(err, &survivors) { // idempotent: it only asks
		e.Err = fmt.Errorf("%w; %w", e.Err, survivors)
	}
	return e
}

// newError describes the server as it is now.
func (c *conn) newError(cause error) *Error {
	ch := c.current.Load()
	e := &Error{
		Server: c.transport.name(), Phase: PhaseRunning, Elapsed: time.Since(c.begin),
		Stderr: ch.tail.String(), Err: cause, pid: ch.proc.Pid(),
	}
	e.Noise, e.noiseLines = ch.noise.account()
	switch {
	case c.blamed() == nil && c.isStopping() && !ch.crashed.Load():
		e.Phase = PhaseStopping
	case !c.handshake.isReady():
		e.Phase = PhaseHandshake
	}
	return e
}

// verdict decides what Close returns. A server that ended when it was asked to,
// or politely by itself, is no error, and neither is its exit status then: many
// servers of the npm world answer end of file with a complaint.
func (c *conn) verdict(cause *Error) error {
	if cause.Err == ErrClosed || cause.Err == errExited && c.handshake.isReady() {
		return nil
	}
	return cause
}

// orphaned is the error of a call whose answer will not come.
func (c *conn) orphaned() *Error {
	if c.cause.Phase == PhaseHandshake {
		return c.cause // a handshake has no outcome to wonder about
	}
	e := *c.cause
	e.Err = orphan{c.cause.Err, c.cause.Phase == PhaseStopping}
	return &e
}

// orphan is the cause of an end as seen by a call that was in flight.
type orphan struct {
	cause   error
	stopped bool // by the host, whether or not it then had to be killed
}

func (o orphan) Error() string { return o.cause.Error() + "; " + ErrOutcomeUnknown.Error() }

func (o orphan) Unwrap() []error {
	if o.stopped {
		return []error{o.cause, ErrOutcomeUnknown, ErrClosed}
	}
	return []error{o.cause, ErrOutcomeUnknown}
}
