package stdio

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stdioguard/stdioguard/procgroup"
)

// eventsHeld is how many events wait for a logger that is slow; more are left
// out. A server has about ten in all.
const eventsHeld = 64

// events hands what happens to a server to the caller's logger, in a goroutine of
// its own: a handler may block or panic, and neither the server nor the host may
// feel it.
//
// No event holds arguments, environment or what a message says, and none what the
// server has printed, which may be all of these; but for the first line of noise,
// at debug level.
type events struct {
	logger *slog.Logger // nil: nobody listens
	server string
	begin  time.Time
	fail   func(error)
	done   chan struct{} // closed: all was handled

	mu     sync.Mutex
	queue  chan slog.Record
	closed bool
}

func newEvents(t *Transport, begin time.Time, fail func(error)) *events {
	e := &events{logger: t.Logger, server: t.name(), begin: begin, fail: fail, done: make(chan struct{})}
	if e.logger == nil {
		e.closed = true
		close(e.done)
		return e
	}
	e.queue = make(chan slog.Record, eventsHeld)
	go e.run()
	return e
}

func (e *events) run() {
	defer close(e.done)
	working := true
	for record := range e.queue {
		working = working && isolated("Logger", e.fail, func() {
			ctx := context.Background()
			if h := e.logger.Handler(); h.Enabled(ctx, record.Level) {
				h.Handle(ctx, record) // an error of it is the handler's own affair
			}
		})
	}
}

func (e *events) add(level slog.Level, message string, attrs ...slog.Attr) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	record := slog.NewRecord(time.Now(), level, "stdio: "+message, 0)
	record.AddAttrs(slog.String("server", e.server), slog.Duration("elapsed", time.Since(e.begin)))
	record.AddAttrs(attrs...)
	select {
	case e.queue <- record:
	default:
	}
}

// close makes done come when what is queued was handled.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.closed = true
		close(e.queue)
	}
}

func (e *events) spawned(ch *child) {
	attrs := []slog.Attr{slog.Int("pid", ch.proc.Pid())}
	if group, ok := ch.proc.(*procgroup.Group); ok {
		attrs = append(attrs, slog.String("held by", group.Containment().String()))
	}
	e.add(slog.LevelInfo, "server spawned", attrs...)
}

func (e *events) ready() { e.add(slog.LevelInfo, "server ready") }

func (e *events) probeRefused(why string) {
	e.add(slog.LevelInfo, methodDiscover+" answered in place of the server", slog.String("because", why))
}

func (e *events) noise(line []byte) {
	e.add(slog.LevelWarn, "a line on stdout is no message, no more of them are logged", slog.Int("bytes", len(line)))
	e.add(slog.LevelDebug, "the line that is no message", slog.String("line", string(line[:min(len(line), noiseKept)])))
}

func (e *events) rung(name string, level slog.Level) {
	e.add(level, "stopping the server", slog.String("rung", name))
}

func (e *events) exited(ch *child) {
	e.add(slog.LevelInfo, "server exited, sweeping its tree", slog.Int("pid", ch.proc.Pid()))
}

// ended is the last event. What the caller has asked for is no warning.
func (e *events) ended(cause *Error, err error) {
	attrs := []slog.Attr{slog.Int("noise", cause.noiseLines)}
	if cause.Exit != nil {
		attrs = append(attrs, slog.String("exit", cause.Exit.String()))
	}
	level, message := slog.LevelInfo, "tree swept"
	if err != nil {
		attrs = append(attrs, slog.String("error", cause.text(false)))
		if !isContextError(err) && !errors.Is(err, ErrClosed) {
			level = slog.LevelWarn
		}
	}
	var survivors *procgroup.SurvivorsError
	if errors.As(err, &survivors) {
		level, message = slog.LevelError, "tree not proven gone"
	}
	e.add(level, message, attrs...)
	e.close()
}
