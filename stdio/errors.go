package stdio

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/stdioguard/stdioguard/internal/text"
)

// Causes that a caller may want to branch on, found by errors.Is in a [*Error].
var (
	// ErrHandshakeTimeout: HandshakeTimeout ran out. It is no context error.
	ErrHandshakeTimeout = errors.New("handshake not done within HandshakeTimeout")
	// ErrLineTooLong: a message is longer than MaxLineLength.
	ErrLineTooLong = errors.New("message longer than MaxLineLength")
	// ErrStdinStalled: the server does not read its stdin, and the pipe is full.
	ErrStdinStalled = errors.New("server has not read its stdin")
	// ErrNoise: more lines on stdout that are no messages than [NoisePolicy] allows.
	ErrNoise = errors.New("stdout holds lines that are no JSON-RPC messages")
	// ErrOutcomeUnknown: a call was sent and will not be answered, because the
	// server has ended or was stopped. Whether it has carried the call out is not
	// known.
	ErrOutcomeUnknown = errors.New("the call was sent, its outcome is unknown")
	// ErrClosed: the connection was closed on our side: by Close or Stop, or by
	// the end of the context that was given to exec.CommandContext, whose own error
	// it does not wrap.
	ErrClosed = errors.New("connection closed by the host")
	// ErrKilled: the server, or a part of its tree, ended neither at end of file
	// nor at SIGTERM within TerminateDuration each.
	ErrKilled = errors.New("had to be killed: not all of its tree ended at end of file or SIGTERM in time")
)

var (
	errLifetime    = fmt.Errorf("killed, the context of its command ended: %w", ErrClosed)
	errExited      = errors.New("exited with status 0")
	errStdoutEnded = errors.New("closed its stdout but did not exit")
	errStdinEnded  = errors.New("closed its stdin but did not exit")
)

// Phase is the part of its life in which a server failed.
type Phase string

// The phases, in their order.
const (
	PhaseResolve   Phase = "resolve"   // finding what to start
	PhaseSpawn     Phase = "spawn"     // starting it
	PhaseHandshake Phase = "handshake" // until it is ready
	PhaseRunning   Phase = "running"
	PhaseStopping  Phase = "stopping" // asked to end by us
)

// Error tells why a server failed. Its text is one line of at most 4 KiB without
// control characters, and holds neither arguments nor environment, except for the
// PATH in which a program was not found, and what the server itself has printed.
type Error struct {
	Server  string           // Transport.Name
	Phase   Phase            // when it failed
	Exit    *os.ProcessState // nil if it was not started or its status is unknown; may be our own kill, see Err
	Stderr  string           // the end of its stderr, at most 64 KiB, as it was written
	Noise   string           // the first line on stdout that was no message, at most 256 bytes
	Elapsed time.Duration    // from Connect to the failure
	Err     error            // the cause

	pid        int
	noiseLines int // how many lines were no message
}

func (e *Error) Error() string { return e.text(true) }

// text leaves out what the server has printed, unless it is to be quoted.
func (e *Error) text(quoting bool) string {
	const most = 4 << 10
	var b strings.Builder
	fmt.Fprintf(&b, "stdio: %s: %s: ", e.Server, e.Phase)
	if e.Err != nil {
		b.WriteString(strings.TrimPrefix(e.Err.Error(), "procgroup: "))
	}
	if quoting && e.Noise != "" {
		fmt.Fprintf(&b, "; not a message: %q", e.Noise)
		if e.noiseLines > 1 {
			fmt.Fprintf(&b, " and %d more", e.noiseLines-1)
		}
	}
	if last := text.LastLines(e.Stderr, 3, 1<<10); quoting && last != "" {
		fmt.Fprintf(&b, "; stderr: %q", last)
	}
	tail := fmt.Sprintf(" (after %v)", e.Elapsed.Round(time.Millisecond))
	if e.pid != 0 {
		tail = fmt.Sprintf(" (pid %d, after %v)", e.pid, e.Elapsed.Round(time.Millisecond))
	}
	return text.Clean(b.String(), most-len(tail)) + tail
}

func (e *Error) Unwrap() error { return e.Err }

// MarshalJSON gives the form that is sent as the data of a JSON-RPC error.
func (e *Error) MarshalJSON() ([]byte, error) {
	data := struct {
		Server    string `json:"server"`
		Phase     Phase  `json:"phase"`
		Error     string `json:"error"`
		Exit      string `json:"exit,omitempty"`
		Noise     string `json:"noise,omitempty"`
		Stderr    string `json:"stderr,omitempty"`
		ElapsedMS int64  `json:"elapsedMs"`
	}{
		Server: e.Server, Phase: e.Phase, Error: e.Error(),
		Noise: e.Noise, Stderr: text.LastLines(e.Stderr, 20, 4<<10),
		ElapsedMS: e.Elapsed.Milliseconds(),
	}
	if e.Exit != nil {
		data.Exit = e.Exit.String()
	}
	return json.Marshal(data)
}

// exitError is the end of a process as a cause. It says of a signal that it came
// from elsewhere: what this library sends is reported as its own reason. That is
// left out of the signals that a program usually brings upon itself.
type exitError struct{ *exec.ExitError }

func (e exitError) Error() string {
	status, ok := e.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return e.ExitError.Error()
	}
	switch sig := status.Signal(); sig {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return fmt.Sprintf("%v (%s, not sent by this host)", e.ExitError, signalName(sig))
	default:
		return fmt.Sprintf("%v (%s)", e.ExitError, signalName(sig))
	}
}

func (e exitError) Unwrap() error { return e.ExitError }

// codeEnded is the JSON-RPC code of an answer that the transport gives in place
// of a server that cannot. It is in the range reserved for implementations.
const codeEnded = -32099

// callError is what a pending call gets when the server has ended: a JSON-RPC
// error for those who look for that, and a [*Error] for those who look for ours.
type callError struct {
	wire  *jsonrpc.Error
	cause *Error
}

func newCallError(cause *Error) callError {
	data, _ := json.Marshal(cause)
	return callError{&jsonrpc.Error{Code: codeEnded, Message: cause.Error(), Data: data}, cause}
}

func (e callError) Error() string   { return e.cause.Error() }
func (e callError) Unwrap() []error { return []error{e.cause, e.wire} }
