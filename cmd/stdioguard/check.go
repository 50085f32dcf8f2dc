package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/internal/text"
	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/stdio"
)

// check is the subcommand; it returns the exit code.
func check(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("stdioguard check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		timeout = flags.Duration("timeout", 60*time.Second, "how long the handshake, and each listing, may take; 0 means the default")
		grace   = flags.Duration("grace", 2*time.Second, "how long the server may take to end at end of file, and again at SIGTERM; 0 means the default")
	)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *timeout < 0 || *grace < 0 {
		fmt.Fprintln(stderr, "stdioguard: -timeout and -grace must not be negative")
		return 2
	}
	*timeout = cmp.Or(*timeout, 60*time.Second)
	*grace = cmp.Or(*grace, 2*time.Second)
	cmd, name, err := serverCommand(flags.Args())
	if err != nil {
		fmt.Fprintln(stderr, "stdioguard:", err)
		return 1
	}
	r := &report{out: stdout}
	r.row("server", "%s", name)
	inspect(ctx, r, &stdio.Transport{Command: cmd, TerminateDuration: *grace, HandshakeTimeout: *timeout}, *timeout)
	r.leftBehind()
	return r.result()
}

func serverCommand(args []string) (cmd *exec.Cmd, name string, err error) {
	if len(args) > 0 {
		return exec.Command(args[0], args[1:]...), filepath.Base(args[0]), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	return exec.Command(self, builtinArg), "built-in", nil
}

// inspect takes the server through its life.
func inspect(ctx context.Context, r *report, t *stdio.Transport, timeout time.Duration) {
	noise, first := 0, ""
	t.OnNoise = func(line []byte) {
		if noise++; noise == 1 {
			first = text.Clean(string(line), 100)
		}
	}
	begin := time.Now()
	client := mcp.NewClient(&mcp.Implementation{Name: "stdioguard check", Version: "1"}, nil)
	session, err := stdio.Connect(ctx, client, t, nil)
	if err != nil {
		r.fault("handshake", "%v", err)
		return
	}
	defer session.Close() // in case of a panic on the way
	init := session.InitializeResult()
	r.row("handshake", "done after %v, protocol %s, %s", since(begin), text.Clean(init.ProtocolVersion, 40), implementation(init.ServerInfo))
	r.offers(ctx, session, timeout)
	tree := t.Process()
	held := tree.Containment()
	held.Gaps = nil // one row is not the place for them
	r.row("held by", "%v", held)
	if r.members, err = tree.Members(); err != nil {
		r.fault("processes", "%v", err)
	} else {
		r.row("processes", "%s", members(r.members))
	}

	begin = time.Now()
	if err := session.Close(); err != nil {
		r.fault("close", "%v", err)
		return
	}
	rung := "end of file"
	if took := time.Since(begin); took >= t.TerminateDuration { // that rung was used up
		rung = "SIGTERM"
	}
	r.row("close", "ended at %s after %v, %s", rung, since(begin), ending(tree))
	if noise > 0 {
		r.row("noise", "%d lines on stdout are no messages, first %q: other clients may fail", noise, first)
	}
}

// ending is the exit status of the server; that of t.Command is of its first life
// where it had two.
func ending(tree *procgroup.Group) string {
	if err := tree.Wait(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

func since(begin time.Time) time.Duration { return time.Since(begin).Round(time.Millisecond) }

func implementation(i *mcp.Implementation) string {
	if i == nil {
		return "a server without a name"
	}
	return text.Clean(i.Name+" "+i.Version, 100)
}

// members names who runs for the server, parents before children.
func members(all []procgroup.Process) string {
	var names []string
	for _, p := range all {
		name := "?"
		if len(p.Argv) > 0 {
			program, _, _ := strings.Cut(p.Argv[0], " ") // npm writes its title there
			name = text.Clean(filepath.Base(program), 40)
		}
		names = append(names, fmt.Sprintf("%s (%d)", name, p.PID))
	}
	return strings.Join(names, ", ")
}

// report prints one row for each finding and remembers whether all is well.
type report struct {
	out     io.Writer
	faults  int
	members []procgroup.Process // of the tree, while it was there
}

func (r *report) row(what, format string, args ...any) {
	fmt.Fprintf(r.out, "%-12s %s\n", what, fmt.Sprintf(format, args...))
}

func (r *report) fault(what, format string, args ...any) {
	r.faults++
	r.row(what, "FAILED: "+format, args...)
}

// offers counts what the server says it has. A server that announces what it
// then cannot list is at fault; one that does not announce it is not asked.
func (r *report) offers(ctx context.Context, s *stdio.Session, timeout time.Duration) {
	caps := s.InitializeResult().Capabilities
	if caps == nil {
		caps = &mcp.ServerCapabilities{}
	}
	var counts []string
	count := func(announced bool, what string, list func(context.Context) (int, error)) {
		if !announced {
			counts = append(counts, "no "+what)
			return
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		n, err := list(ctx)
		if err != nil {
			r.fault(what, "%s", text.Clean(err.Error(), 1000))
			return
		}
		counts = append(counts, fmt.Sprintf("%s: %d", what, n))
	}
	count(caps.Tools != nil, "tools", func(ctx context.Context) (int, error) { return length(s.Tools(ctx, nil)) })
	count(caps.Resources != nil, "resources", func(ctx context.Context) (int, error) { return length(s.Resources(ctx, nil)) })
	count(caps.Prompts != nil, "prompts", func(ctx context.Context) (int, error) { return length(s.Prompts(ctx, nil)) })
	r.row("offers", "%s", strings.Join(counts, ", "))
}

// length counts a listing, page by page.
func length[T any](items iter.Seq2[T, error]) (n int, err error) {
	for _, err := range items {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// leftBehind looks for what the server has left in two ways: by the marks that
// leakcheck goes by, and, whatever became of those, for the very processes that were
// seen in its tree.
func (r *report) leftBehind() {
	if err := leakcheck.Find(leakcheck.Within(time.Second)); err != nil {
		r.fault("left behind", "%v", err)
		return
	}
	for _, p := range r.members {
		now, err := proctable.Lookup(p.PID)
		if err == nil && now.Alive() && now.Started().Equal(p.Start) {
			r.fault("left behind", "pid %d, %s", p.PID, members([]procgroup.Process{p}))
			return
		}
	}
	r.row("left behind", "nothing")
}

func (r *report) result() int {
	if r.faults > 0 {
		r.row("result", "%d of the above failed", r.faults)
		return 1
	}
	r.row("result", "ok")
	return 0
}
