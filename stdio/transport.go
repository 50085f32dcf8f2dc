// Package stdio is a transport for the Model Context Protocol that starts the
// server as a child process and never loses it. It knows framing and the SDK;
// process trees are the business of package procgroup.
//
// Moving from the SDK's own transport is one word: &mcp.CommandTransport{...}
// becomes &stdio.Transport{...}. Any mcp.Client can connect through it;
// [Connect] adds errors that keep their type and a Close that is bounded even
// with calls in flight.
//
// # Flow of data and of ownership
//
//	         Write                         stdin
//	SDK  ----------->  conn  ---writer--> =======> child: a server and its tree,
//	     <-----------        <--reader--- <=======        owned by a procgroup.Group
//	         Read        ^                 stdout
//	                     |    <--tail---- <=======
//	                     |                 stderr
//	                   watch: sees each child to its end, lets reader and tail drain
//	                   what is left in the pipes, names the cause, and answers
//	                   every pending call with it
//
// A conn has one child. Only a server that dies of server/discover, the first message
// of a client of MCP 2026-07-28, is started once more, when the first tree is
// gone; whoever does not answer it is answered for. What the caller gave us to call,
// writers, hooks, logger and the client itself, is never called under a lock
// or by a goroutine that the end of the server needs.
//
// # Who waits for what
//
//	what is waited for        who waits        what ends it
//	a message                 Read             message; the server's end; its context
//	room in the stdin pipe    Write            room; its context; 60 s with little; the server's end
//	the turn to write         Write            as above, for whoever has the turn
//	an answer to the probe    a timer          answer; 5 s, or half of the handshake's time, after it was
//	                                           read (written, where that cannot be seen: not Linux)
//	the start                 Connect          what exec.Cmd.Start does
//	                          Stop             the same; its context
//	the start once more       all of them      what exec.Cmd.Start does
//	the handshake             a timer          it is done; HandshakeTimeout; the context of Connect
//	end of file, SIGTERM      the ladder       the tree is gone; TerminateDuration each
//	the tree to vanish        Close, Stop      5 s after SIGKILL at the latest
//	stdin or stdout ended     writer, reader   exit; 2 s
//	the cause of that         Write            the server's end; its context; 4 s
//	pipes held by strangers   reader, tail     100 ms of silence, or 1 MiB
//	the client to Read        reader           Read; Close; 2 s after the server's end
//	OnNoise                   reader           its return; Close goes on 2 s after the server's end
//	writers of stderr, logger watch            their return; 2 s after that
//	the client to notice that the context of Connect has ended
//	                          Read             Close; 2 s after the server's end
//
// A server is "ready" when its handshake is done: its answer to server/discover
// was a success, or notifications/initialized was written after a successful
// initialize (MCP 2025-11-25, Lifecycle; 2026-07-28, Versioning). Until then
// the context given to Connect and HandshakeTimeout kill it at once; afterwards
// they have no say.
package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdioguard/stdioguard/procgroup"
)

const (
	defaultTerminate = 2 * time.Second
	defaultHandshake = 60 * time.Second
	defaultMaxLine   = 16 << 20
	defaultStall     = 60 * time.Second
)

// Transport is an mcp.Transport that runs a command and speaks newline-delimited
// JSON-RPC with it over stdin and stdout. The zero value of every field but
// Command is a documented default.
//
// A Transport is for one connection. Its fields must not be changed after
// Connect was called; its methods may be called at any time, from any goroutine.
type Transport struct {
	// Command is the server. Required. Its Stdin and Stdout must be nil; if its
	// Stderr is set, the server's stderr is copied there. A context given to
	// exec.CommandContext bounds the server's life: when it ends, the whole tree
	// is killed, and the Cancel function is not called. Where a server that ended at
	// server/discover was started once more, Process and ProcessState are those of
	// its first life: see [Transport.Process].
	Command *exec.Cmd

	// TerminateDuration is how long each rung of the ladder may take when the
	// server is stopped: end of file on its stdin, then SIGTERM. Zero means 2 s;
	// negative values are refused. A server that never became ready gets at most
	// 200 ms for each rung, and none when the context of Connect ends.
	TerminateDuration time.Duration

	// MaxLineLength bounds one inbound message in bytes, without its newline.
	// A longer one fails the server with ErrLineTooLong. Zero means 16 MiB,
	// negative means no limit.
	MaxLineLength int

	// HandshakeTimeout bounds the time from Connect to the end of the handshake,
	// beside the context given to Connect. Zero means 60 s; negative values
	// are refused.
	HandshakeTimeout time.Duration

	// Name stands for the server in errors. Empty means the base name of its
	// program.
	Name string

	// Stderr, if not nil, gets the server's stderr in pieces as they come, beside
	// Command.Stderr if that is set too. Its Write is called from one goroutine.
	// While it blocks, up to 1 MiB is held for it; what comes beyond that is left
	// out, with a line that says so: the server is never held up. A Write that is
	// still blocked 2 s after the end of the server is left behind. After an error
	// it is not called again; a panic in it fails this server. The last 64 KiB are
	// kept for errors in any case.
	Stderr io.Writer

	// Noise says what becomes of a server that prints on stdout what is no message.
	// Zero means SkipNoise.
	Noise NoisePolicy

	// OnNoise, if not nil, is called with every such line, of which it may keep
	// the slice, by the goroutine that reads from the server: no message comes while
	// it blocks, but nobody else is held up, and Close waits 2 s for it at most. A
	// panic in it fails this server.
	OnNoise func(line []byte)

	// Logger, if not nil, gets the events of the server's life: spawned, ready, the
	// first line of noise, each rung of the ladder, exited, swept. What is usual is
	// logged at info level, what the caller should know at warn level, a tree that
	// could not be proven gone at error level. No event holds arguments,
	// environment, messages or what the server prints on stderr; the first line of
	// noise is logged at debug level. Its handler is called from one goroutine;
	// while it blocks, 64 events are held and more are left out. A panic in it fails
	// this server.
	Logger *slog.Logger

	// Group says how the process tree is started and held. Group.Grace is not
	// used: see TerminateDuration.
	Group procgroup.Config

	// termRung is how long the rung of SIGTERM may take where a test wants it to
	// differ. Zero otherwise: TerminateDuration.
	termRung time.Duration

	// stall is how long a server may take little from its stdin where a test wants
	// it shorter. Zero otherwise: 60 s.
	stall time.Duration

	// probeTimeout is how long the answer to server/discover may take where a test
	// wants it shorter. Zero otherwise: see probeTimeout.
	probeTimeout time.Duration

	// start replaces procgroup in tests of the ladder. Nil otherwise.
	start func(context.Context, *exec.Cmd) (process, error)

	mu      sync.Mutex
	dialed  chan struct{} // not nil: Connect was called; closed: it has started the server, or failed
	stopped bool
	conn    *conn
	err     error // why Connect failed before there was a conn
}

// process is what the transport needs of a *procgroup.Group.
type process interface {
	Pid() int
	Stop(context.Context) error
	Kill() error
	Wait() error
	Exited() <-chan struct{}
	Done() <-chan struct{}
}

// CommandContext returns a Transport for the named program and arguments. As in
// exec.CommandContext, ctx is the lifetime of the server: when it ends, the whole
// tree is killed.
func CommandContext(ctx context.Context, name string, arg ...string) *Transport {
	return &Transport{Command: exec.CommandContext(ctx, name, arg...)}
}

// Connect starts the server and returns the connection to it; it is called by
// mcp.Client.Connect. It blocks only for the start. Until the handshake is done,
// the end of ctx kills the tree at once; afterwards ctx has no effect.
//
// Every error is a [*Error]; nothing runs then. A second call fails with an
// error that wraps os.ErrInvalid.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.dial(ctx)
	if err != nil {
		return nil, err // and no typed nil beside it
	}
	return c, nil
}

func (t *Transport) dial(ctx context.Context) (*conn, error) {
	begin := time.Now()
	t.mu.Lock()
	if t.dialed != nil {
		t.mu.Unlock()
		return nil, t.failure(begin, fmt.Errorf("transport was already connected: %w", os.ErrInvalid))
	}
	dialed := make(chan struct{})
	t.dialed = dialed
	t.mu.Unlock()
	defer close(dialed)

	c, err := t.connect(ctx, begin) // may take long: nobody waits for the lock meanwhile
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.err = t.failure(begin, err)
		return nil, t.err
	}
	t.conn = c
	if t.stopped { // meanwhile
		c.stopped.Store(true)
		c.shutdown()
	}
	return c, nil
}

func (t *Transport) connect(ctx context.Context, begin time.Time) (*conn, error) {
	if err := t.check(ctx); err != nil {
		return nil, err
	}
	c := newConn(t, begin)
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func (t *Transport) check(ctx context.Context) error {
	switch {
	case ctx == nil:
		return &procgroup.StartError{What: "context", Err: errNil}
	case t.Command == nil:
		return &procgroup.StartError{What: "command", Err: errNil}
	case t.Command.Process != nil:
		return &procgroup.StartError{What: "command", Path: t.name(), Err: errStarted}
	case t.Command.Stdin != nil:
		return &procgroup.StartError{What: "command", Path: "Stdin", Err: errTaken}
	case t.Command.Stdout != nil:
		return &procgroup.StartError{What: "command", Path: "Stdout", Err: errTaken}
	case t.TerminateDuration < 0:
		return &procgroup.StartError{What: "TerminateDuration", Path: t.TerminateDuration.String(), Err: errNegative}
	case t.Group.Grace < 0:
		return &procgroup.StartError{What: "Group.Grace", Path: t.Group.Grace.String(), Err: errNegative}
	case t.HandshakeTimeout < 0:
		return &procgroup.StartError{What: "HandshakeTimeout", Path: t.HandshakeTimeout.String(), Err: errNegative}
	case t.Noise != SkipNoise && t.Noise != FailOnNoise:
		return &procgroup.StartError{What: "Noise", Path: fmt.Sprint(int(t.Noise)), Err: os.ErrInvalid}
	case t.isStopped():
		return ErrClosed
	}
	return ctx.Err()
}

func (t *Transport) isStopped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopped
}

var (
	errNil      = fmt.Errorf("is nil: %w", os.ErrInvalid)
	errStarted  = fmt.Errorf("was already started: %w", os.ErrInvalid)
	errTaken    = fmt.Errorf("is set, but belongs to the transport: %w", os.ErrInvalid)
	errNegative = fmt.Errorf("is negative: %w", os.ErrInvalid)
)

// failure is the error of a server that never ran.
func (t *Transport) failure(begin time.Time, err error) *Error {
	phase := PhaseSpawn
	var culprit *procgroup.StartError
	if errors.As(err, &culprit) {
		phase = PhaseResolve
	}
	return &Error{Server: t.name(), Phase: phase, Elapsed: time.Since(begin), Err: err}
}

func (t *Transport) name() string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Command == nil || t.Command.Path == "":
		return "server"
	}
	return filepath.Base(t.Command.Path)
}
