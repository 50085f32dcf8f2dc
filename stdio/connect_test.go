//go:build unix

package stdio_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// A Connect that fails, for whatever a server does or does not do, returns with the
// tree gone and says why.
func TestConnectThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		command func() *exec.Cmd
		within  time.Duration // of the context; 0: no limit
		says    string
		members []string // who survives without the protection
	}{
		"refused":                   {func() *exec.Cmd { return servers.Command("refuser") }, 0, "no license for this host", nil},
		"refused, deaf":             {func() *exec.Cmd { return servers.Command("refuser", "deaf") }, 0, "no license for this host", nil},
		"refused, stubborn":         {func() *exec.Cmd { return servers.Command("refuser", "stubborn") }, 0, "no license for this host", nil},
		"refused, with a child":     {func() *exec.Cmd { return servers.Command("refuser", "parent") }, 0, "no license for this host", []string{"refuser", "stubborn-sleeper"}},
		"refused, forked by sh":     {func() *exec.Cmd { return servers.Shell("sh", "run refuser; true") }, 0, "no license for this host", nil},
		"version of 1900":           {func() *exec.Cmd { return servers.Command("antique") }, 0, "1900-01-01", nil},
		"exits before it reads":     {func() *exec.Cmd { return servers.Command("brittle") }, 0, "fatal: API_KEY is not set", nil},
		"mute":                      {func() *exec.Cmd { return servers.Command("mute") }, 200 * time.Millisecond, "deadline exceeded", nil},
		"mute, does not read":       {func() *exec.Cmd { return servers.Command("mute", "blind") }, 200 * time.Millisecond, "deadline exceeded", nil},
		"mute, forked by sh":        {func() *exec.Cmd { return servers.Shell("sh", "run mute; true") }, 200 * time.Millisecond, "deadline exceeded", nil},
		"mute, stubborn, by sh":     {func() *exec.Cmd { return servers.Shell("sh", "run stubborn-sleeper; true") }, 300 * time.Millisecond, "deadline exceeded", []string{"stubborn-sleeper"}},
		"mute, stubborn, by bash":   {func() *exec.Cmd { return servers.Shell("bash", "run stubborn-sleeper; true") }, 300 * time.Millisecond, "deadline exceeded", []string{"stubborn-sleeper"}},
		"closes stdout and stays":   {func() *exec.Cmd { return servers.Command("closer") }, 0, "closed its stdout", nil},
		"exits 0 without a message": {func() *exec.Cmd { return exec.Command("true") }, 0, "exited with status 0", nil},
	} {
		for via, connect := range connectors {
			t.Run(name+"/"+via, func(t *testing.T) {
				t.Parallel()
				transport, w := zoo(t, c.command(), atKILL)
				requireShell(t, transport.Command)
				ctx := t.Context()
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
				}
				_, err := connect(ctx, transport)
				if left := w.Alive(); len(left) > 0 {
					w.Gone(t) // the news may be on its way; a survivor fails
				}
				require.ErrorContains(t, err, c.says)
				require.NotContains(t, err.Error(), "\n")
				require.Equal(t, c.within > 0, errors.Is(err, context.DeadlineExceeded))
				if via == "stdio.Connect" {
					var typed *stdio.Error
					require.ErrorAs(t, err, &typed)
					require.Equal(t, stdio.PhaseHandshake, typed.Phase)
					require.Equal(t, "zoo", typed.Server)
					require.NotNil(t, typed.Exit)
				}
			})
		}
		if c.members == nil {
			continue
		}
		t.Run(name+"/protection off", func(t *testing.T) {
			t.Parallel()
			transport, w := zoo(t, c.command(), atKILL)
			requireShell(t, transport.Command)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				w.Await(t, c.members...)
			}()
			_, err := stdio.Connect(ctx, newClient(), stdio.Unprotected(transport), nil)
			require.Error(t, err)
			w.Await(t, c.members...)
			require.NotEmpty(t, w.Alive(), "nobody survived: the test above proves nothing")
		})
	}
}

func TestErrorOfAServerThatExits(t *testing.T) {
	transport, _ := zoo(t, servers.Command("brittle"), atEOF)
	_, err := stdio.Connect(t.Context(), newClient(), transport, nil)
	require.Regexp(t, `^stdio: zoo: handshake: exit status 3; stderr: "fatal: API_KEY is not set" \(pid \d+, after [\d.]+m?s\)$`, err.Error())
	var typed *stdio.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, 3, typed.Exit.ExitCode())
	require.Equal(t, "fatal: API_KEY is not set\n", typed.Stderr)
	require.Positive(t, typed.Elapsed)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, err, transport.Err())
	require.Equal(t, err, transport.Stop(t.Context()), "for ever after")
}

func TestErrorOfACallWhenTheServerDies(t *testing.T) {
	for via, connect := range connectors {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			transport, _ := zoo(t, servers.Command("suicide"), atEOF)
			session, err := connect(t.Context(), transport)
			require.NoError(t, err)
			err = call(session)
			require.ErrorContains(t, err, "signal: killed (SIGKILL, not sent by this host); the call was sent, its outcome is unknown")
			var typed *stdio.Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, stdio.PhaseRunning, typed.Phase)
			var wire *jsonrpc.Error
			require.ErrorAs(t, err, &wire)
			require.Equal(t, typed.Error(), wire.Message)
			require.Contains(t, string(wire.Data), `"phase":"running"`)
			require.ErrorContains(t, call(session), "SIGKILL", "a later call")
			require.ErrorContains(t, session.Close(), "SIGKILL")
		})
	}
}

func TestHandshakeTimeout(t *testing.T) {
	transport, w := zoo(t, servers.Command("mute"), atEOF)
	transport.HandshakeTimeout = short
	_, err := stdio.Connect(t.Context(), newClient(), transport, nil)
	require.ErrorIs(t, err, stdio.ErrHandshakeTimeout)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	w.Gone(t)
}

// The client's middleware panics in the middle of the handshake: the panic goes
// on, the server does not.
func TestPanicInTheHandshake(t *testing.T) {
	transport, w := zoo(t, servers.Shell("sh", "run stubborn; true"), atKILL)
	client := newClient()
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "initialize" {
				panic("middleware")
			}
			return next(ctx, method, req)
		}
	})
	require.PanicsWithValue(t, "middleware", func() {
		stdio.Connect(t.Context(), client, transport, nil)
	})
	w.Gone(t)
}

// Each mistake in what is to be started is told by its name.
func TestErrorsOfTheStart(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	script := func(content string, mode fs.FileMode) *exec.Cmd {
		path := filepath.Join(t.TempDir(), "script")
		require.NoError(t, servers.WriteProgram(path, []byte(content), mode))
		return exec.Command(path)
	}
	inDir := exec.Command("true")
	inDir.Dir = missing
	stdinTaken := exec.Command("true")
	stdinTaken.Stdin = strings.NewReader("")
	started := exec.Command("true")
	require.NoError(t, started.Run())

	for name, c := range map[string]struct {
		transport *stdio.Transport
		says      string
		is        error
	}{
		"directory":            {&stdio.Transport{Command: inDir}, missing, fs.ErrNotExist},
		"not in PATH":          {&stdio.Transport{Command: exec.Command("no-such-program-here")}, "no-such-program-here", exec.ErrNotFound},
		"no run bit":           {&stdio.Transport{Command: script("#!/bin/sh\n", 0o644)}, "not executable", fs.ErrPermission},
		"interpreter":          {&stdio.Transport{Command: script("#!"+missing+"\n", 0o755)}, missing, fs.ErrNotExist},
		"nil command":          {&stdio.Transport{}, "command is nil", os.ErrInvalid},
		"started command":      {&stdio.Transport{Command: started}, "already started", os.ErrInvalid},
		"stdin taken":          {&stdio.Transport{Command: stdinTaken}, "Stdin", os.ErrInvalid},
		"negative termination": {&stdio.Transport{Command: exec.Command("true"), TerminateDuration: -1}, "TerminateDuration", os.ErrInvalid},
		"negative handshake":   {&stdio.Transport{Command: exec.Command("true"), HandshakeTimeout: -1}, "HandshakeTimeout", os.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stdio.Connect(t.Context(), newClient(), c.transport, nil)
			var typed *stdio.Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, stdio.PhaseResolve, typed.Phase)
			require.ErrorContains(t, err, c.says)
			require.ErrorIs(t, err, c.is)
			require.Equal(t, err, c.transport.Err())
			require.NoError(t, c.transport.Stop(t.Context()))
		})
	}
}
