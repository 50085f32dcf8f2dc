package stdio_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

var update = flag.Bool("update", false, "write docs/errors.md anew")

// errorsIntro has room for the version of go-sdk.
const errorsIntro = `# What a host sees when a server fails

Each line is a fault that was brought about with a real process, once for each of two hosts:

- before: ` + "`client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)`" + `, the SDK alone (go-sdk %s, Linux);
- after: ` + "`stdio.Connect(ctx, client, &stdio.Transport{Command: cmd}, nil)`" + `.

A cell has what the host called, the error that it got, and how many processes of the server were alive at that moment:
"left". Where there was a session, the host then closed it. What is left after Close, and after a Connect that has failed,
nobody ends any more. The SDK's transport sends the server's stderr where ` + "`Command.Stderr`" + ` says, by default nowhere.

This page is written by a test, ` + "`go test ./stdio -run TestErrorsDocument -update`" + `, which fails where the page is not
true any more. PID, TIME, PATH and DIR (a directory of the test) stand for what differs from run to run. A write to a server
that has just died may fail before the end of its stdout is seen: the SDK then says ` + "`write |1: broken pipe`" + ` for ` + "`EOF`" + `.

| the server | before: mcp.CommandTransport | after: stdio.Transport |
|---|---|---|
`

// A fault is one line of the page.
type fault struct {
	what    string
	command func(t *testing.T, dir string) *exec.Cmd
	given   string              // the server that runs when the context of Connect ends; "": it does not end
	then    func(*scene) string // what the host does once it is connected; nil: it never is
	left    []string            // who is alive after the error of the SDK's transport
	after   []string            // and once its session was closed
}

var faults = []fault{
	{what: "the program is not in PATH",
		command: func(*testing.T, string) *exec.Cmd { return exec.Command("weather-server") }},
	{what: "Command.Dir does not exist",
		command: func(_ *testing.T, dir string) *exec.Cmd {
			cmd := servers.Command("ordinary")
			cmd.Dir = filepath.Join(dir, "missing")
			return cmd
		}},
	{what: "the interpreter of a script does not exist",
		command: func(t *testing.T, dir string) *exec.Cmd {
			script := filepath.Join(dir, "weather.py")
			require.NoError(t, servers.WriteProgram(script, []byte("#!"+dir+"/python3\n"), 0o755))
			return exec.Command(script)
		}},
	{what: "exits with a message on stderr before it reads anything", command: server("brittle")},
	{what: "prints its usage on stdout and exits", command: shell(`read line; echo "usage: weather --key KEY"; exit 2`)},
	{what: "prints a banner on stdout, and is fine otherwise",
		command: server("chatterbox", "Weather 1.0 is ready\n"), then: callAndClose},
	{what: "refuses the handshake; it has a child",
		command: server("refuser", "parent"), left: []string{"stubborn-sleeper"}},
	{what: "speaks a protocol version that nobody knows", command: server("antique")},
	{what: "never answers, under a shell; the context given to Connect ends",
		command: shell("run stubborn-sleeper; true"), given: "stubborn-sleeper", left: []string{"stubborn-sleeper"}},
	{what: "closes its stdout and stays", command: server("closer")},
	{what: "writes a line without an end", command: server("endless")},
	{what: "is killed by SIGKILL in a call, as for want of memory",
		command: server("suicide"), then: callTool("ping")},
	{what: "exits in a call with messages on stderr; it has a child",
		command: server("crasher"), then: callTool("ping"), left: []string{"stubborn-sleeper"}, after: []string{"stubborn-sleeper"}},
	{what: "answers a call with 20 MB", command: server("bulky"), then: callTool("20000000"), left: []string{"bulky"}},
	{what: "prints junk for ever in a call",
		command: server("flooder", "call"), then: callTool("ping"), left: []string{"flooder"}},
	{what: "does not answer a call; the host closes the session",
		command: server("hanger"), then: closeInACall, left: []string{"hanger"}},
	{what: "is run by a launcher, as with npx, and does not end at end of file; the host closes the session",
		command: server("launcher"), then: closeSession, left: []string{"deaf"}},
}

func server(name string, args ...string) func(*testing.T, string) *exec.Cmd {
	return func(*testing.T, string) *exec.Cmd { return servers.Command(name, args...) }
}

func shell(script string) func(*testing.T, string) *exec.Cmd {
	return func(*testing.T, string) *exec.Cmd { return servers.Shell("sh", script) }
}

// A scene is one fault as one host sees it.
type scene struct {
	t       *testing.T
	stock   bool // mcp.CommandTransport and client.Connect
	w       *servers.Witness
	stderr  *os.File // of the server
	session closer
	end     func() // of the session; nil: it is closed, or never was
}

// play brings the fault about and returns its cell of the page.
func (f fault) play(t *testing.T, stock bool) string {
	dir := t.TempDir()
	cmd := f.command(t, dir)
	var theirs *os.File
	s := &scene{t: t, stock: stock, w: servers.NewWitness(t)}
	var err error
	s.stderr, theirs, err = os.Pipe()
	require.NoError(t, err)
	defer s.stderr.Close()
	defer theirs.Close()
	cmd.Stderr = theirs

	if cmd.Err == nil { // or it would look for the program in an environment of its own
		s.w.Watch(cmd)
	}
	cell := "Connect: " + told(s.connect(f, cmd))
	if s.session != nil {
		require.NotNil(t, f.then, "it has connected")
		cell = f.then(s)
	}
	cell += "<br>" + s.left(f.left) + " left"
	if s.end != nil {
		s.end()
		cell += ", " + s.left(f.after) + " after Close"
	}
	cell = strings.NewReplacer(dir, "DIR", os.Getenv("PATH"), "PATH", "write |1: broken pipe", "EOF").Replace(cell)
	cell = regexp.MustCompile(`\((pid )?[0-9]*(, )?after [0-9.]+m?s\)`).ReplaceAllStringFunc(cell, func(tail string) string {
		if strings.Contains(tail, "pid") {
			return "(pid PID, after TIME)"
		}
		return "(after TIME)"
	})
	return strings.ReplaceAll(cell, "|", `\|`)
}

// connect connects as the host does, and gives up when the fault asks for it.
func (s *scene) connect(f fault, cmd *exec.Cmd) error {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	if f.given != "" {
		go func() {
			defer cancel()
			s.w.Await(s.t, f.given)
		}()
	}
	return bounded(s.t, "Connect", func() error {
		var session closer
		var err error
		if s.stock {
			session, err = newClient().Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, nil)
		} else {
			transport := &stdio.Transport{Command: cmd, Name: "weather"}
			atTERM.rungs(transport)
			session, err = stdio.Connect(ctx, newClient(), transport, nil)
		}
		if err == nil {
			s.session = session
			s.end = func() { bounded(s.t, "Close", session.Close) }
		}
		return err
	})
}

// left counts who is alive: with our transport nobody, with the SDK's the named.
func (s *scene) left(names []string) string {
	if !s.stock {
		names = nil
	}
	s.w.Await(s.t, names...)
	s.w.Left(s.t, names...)
	return strconv.Itoa(len(names))
}

func callTool(name string) func(*scene) string {
	return func(s *scene) string {
		return "call: " + told(bounded(s.t, "the call", func() error {
			_, err := s.session.CallTool(s.t.Context(), &mcp.CallToolParams{Name: name})
			return err
		}))
	}
}

func closeSession(s *scene) string {
	s.end = nil
	return "Close: " + told(bounded(s.t, "Close", s.session.Close))
}

func callAndClose(s *scene) string {
	return callTool("ping")(s) + "<br>" + closeSession(s)
}

// closeInACall closes the session while a call hangs. The SDK's own waits for the
// call, which the host gives up when that was seen.
func closeInACall(s *scene) string {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	called, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: "ping"})
		called <- err
	}()
	_, err := s.stderr.Read(make([]byte, 100)) // the server has the call
	require.NoError(s.t, err)
	go func() { closed <- s.session.Close() }()
	s.end = nil
	if s.stock {
		select {
		case err := <-closed:
			return "Close: " + told(err)
		case <-time.After(time.Second):
		}
		s.end = func() {
			cancel()
			received(s.t, "the call", called)
			received(s.t, "Close", closed)
		}
		return "Close: does not return while the call hangs"
	}
	err = received(s.t, "Close", closed)
	return "Close: " + told(err) + "<br>call: " + told(received(s.t, "the call", called))
}

// told is an error as the page shows it.
func told(err error) string {
	if err == nil {
		return "no error"
	}
	return "`" + err.Error() + "`"
}

// The page of before and after says what is so.
func TestErrorsDocument(t *testing.T) {
	module, err := os.ReadFile(filepath.Join("..", "go.mod"))
	require.NoError(t, err)
	version := regexp.MustCompile(`modelcontextprotocol/go-sdk (\S+)`).FindSubmatch(module)
	require.NotNil(t, version)
	before, after := make([]string, len(faults)), make([]string, len(faults))
	t.Run("faults", func(t *testing.T) {
		for i, f := range faults {
			t.Run(f.what+"/before", func(t *testing.T) { t.Parallel(); before[i] = f.play(t, true) })
			t.Run(f.what+"/after", func(t *testing.T) { t.Parallel(); after[i] = f.play(t, false) })
		}
	})
	if t.Failed() {
		return // a cell is missing, and the reason was told
	}
	var page strings.Builder
	fmt.Fprintf(&page, errorsIntro, version[1])
	for i, f := range faults {
		fmt.Fprintf(&page, "| %s | %s | %s |\n", f.what, before[i], after[i])
	}
	path := filepath.Join("..", "docs", "errors.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String())
}
