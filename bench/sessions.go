package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	mcptransport "github.com/mark3labs/mcp-go/client/transport"
	mcpgolib "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdioguard/stdioguard/bench/internal/tiny"
	"github.com/stdioguard/stdioguard/stdio"
)

// session is a connected server, as the users of a column have it.
type session struct {
	call  func(ctx context.Context, tool, argument string) error
	close func() error
}

// A connector connects to a server in the way of one column. rung is how long a step
// of closing may take, where that can be said.
type connector func(ctx context.Context, cmd *exec.Cmd, rung time.Duration) (*session, error)

var connectors = map[string]connector{
	ours:  connectOurs,
	sdk:   connectSDK,
	mcpgo: connectMCPGo,
	plain: connectRaw,
}

// tinyServer is the command of the fast server.
func tinyServer() *exec.Cmd {
	cmd := exec.Command(executable())
	cmd.Env = append(os.Environ(), tiny.Var+"=1")
	return cmd
}

func executable() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

func newClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
}

func connectOurs(ctx context.Context, cmd *exec.Cmd, rung time.Duration) (*session, error) {
	s, err := stdio.Connect(ctx, newClient(), &stdio.Transport{Command: cmd, TerminateDuration: rung}, nil)
	if err != nil {
		return nil, err
	}
	return &session{call: callSDK(s.ClientSession), close: s.Close}, nil
}

func connectSDK(ctx context.Context, cmd *exec.Cmd, rung time.Duration) (*session, error) {
	s, err := newClient().Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: rung}, nil)
	if err != nil {
		return nil, err
	}
	return &session{call: callSDK(s), close: s.Close}, nil
}

func callSDK(s *mcp.ClientSession) func(context.Context, string, string) error {
	return func(ctx context.Context, tool, argument string) error {
		params := &mcp.CallToolParams{Name: tool}
		if argument != "" {
			params.Arguments = map[string]any{"text": argument}
		}
		_, err := s.CallTool(ctx, params)
		return err
	}
}

// connectMCPGo cannot say how long a step of closing may take: 2 s, 3 s and 3 s.
func connectMCPGo(ctx context.Context, cmd *exec.Cmd, _ time.Duration) (*session, error) {
	t := mcptransport.NewStdioWithOptions(cmd.Path, nil, cmd.Args[1:],
		mcptransport.WithCommandFunc(func(context.Context, string, []string, []string) (*exec.Cmd, error) { return cmd, nil }),
		mcptransport.WithCommandLogger(slog.New(slog.DiscardHandler)))
	c := mcpclient.NewClient(t)
	if err := c.Start(context.Background()); err != nil {
		return nil, err
	}
	var request mcpgolib.InitializeRequest
	request.Params.ProtocolVersion = "2025-11-25"
	request.Params.ClientInfo = mcpgolib.Implementation{Name: "bench", Version: "1"}
	if _, err := c.Initialize(ctx, request); err != nil {
		// As its users do, since it leaves the server to them.
		return nil, errors.Join(err, c.Close())
	}
	call := func(ctx context.Context, tool, argument string) error {
		var request mcpgolib.CallToolRequest
		request.Params.Name = tool
		if argument != "" {
			request.Params.Arguments = map[string]any{"text": argument}
		}
		_, err := c.CallTool(ctx, request)
		return err
	}
	return &session{call: call, close: c.Close}, nil
}

// connectRaw is no client but what every client must do at least: a line out, a
// line in, of which nobody reads what it says.
func connectRaw(_ context.Context, cmd *exec.Cmd, _ time.Duration) (*session, error) {
	w, err := openRaw(cmd)
	if err != nil {
		return nil, err
	}
	call := func(_ context.Context, tool, _ string) error {
		if _, err := w.in.Write(callLine(1, tool)); err != nil {
			return err
		}
		_, err := w.next()
		return err
	}
	return &session{call: call, close: w.close}, nil
}

// rawWire is a pipe to a process and a line reader.
type rawWire struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	next func() (line []byte, err error)
}

func openRaw(cmd *exec.Cmd) (*rawWire, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &rawWire{cmd: cmd, in: in, next: lineReader(out)}, nil
}

func (w *rawWire) close() error {
	w.in.Close()
	return w.cmd.Wait()
}
