// Package integration runs the library against real servers: three from npm,
// started through npx, because the wrapper is the point, and the example server
// of the Go SDK. `npm ci` in this folder installs the former; the tests skip, or
// fail where STDIOGUARD_REQUIRE_NPM is set, without them.
package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/stdio"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }

// patience bounds a test on a machine that is busy with others.
const patience = time.Minute

// npx returns the command that starts an installed npm server.
func npx(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	_, err := exec.LookPath("npx")
	if err == nil {
		_, err = os.Stat(filepath.Join("node_modules", ".bin", args[0]))
	}
	switch {
	case err == nil:
	case os.Getenv("STDIOGUARD_REQUIRE_NPM") != "":
		t.Fatal(err)
	default:
		t.Skipf("SKIPPED for want of `npm ci` in the folder integration: %v", err)
	}
	cmd := exec.Command("npx", append([]string{"--no-install", "--"}, args...)...)
	// Nothing of the user's own npm, and no write outside the test.
	cmd.Env = append(os.Environ(), "npm_config_cache="+t.TempDir(), "npm_config_update_notifier=false", "NO_UPDATE_NOTIFIER=1")
	return cmd
}

// sdkExample builds the everything server of the SDK.
func sdkExample(t *testing.T) *exec.Cmd {
	t.Helper()
	program := filepath.Join(t.TempDir(), "everything")
	build := exec.Command("go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/examples/server/everything")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exec.Command(program)
}

// A use is what a host does with a server until it closes it.
type use func(t *testing.T, ctx context.Context, s *mcp.ClientSession)

func listTools(t *testing.T, ctx context.Context, s *mcp.ClientSession) {
	tools, err := s.ListTools(ctx, nil)
	require.NoError(t, err)
	require.NotEmpty(t, tools.Tools)
}

func callTool(name string, args map[string]any, want string) use {
	return func(t *testing.T, ctx context.Context, s *mcp.ClientSession) {
		listTools(t, ctx, s)
		result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		require.NoError(t, err)
		require.NotEmpty(t, result.Content)
		text, ok := result.Content[0].(*mcp.TextContent)
		require.True(t, ok)
		require.Contains(t, text.Text, want)
	}
}

func TestServers(t *testing.T) {
	for name, c := range map[string]struct {
		command func(t *testing.T) *exec.Cmd
		use     use
		wrapped bool // the server is not the process that we start
	}{
		"everything": {func(t *testing.T) *exec.Cmd { return npx(t, "mcp-server-everything") },
			callTool("echo", map[string]any{"message": "hello there"}, "hello there"), true},
		"filesystem": {func(t *testing.T) *exec.Cmd {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "note.txt"), []byte("remember"), 0o600))
			return npx(t, "mcp-server-filesystem", dir)
		}, callTool("list_allowed_directories", map[string]any{}, "Allowed"), true},
		"memory": {func(t *testing.T) *exec.Cmd {
			cmd := npx(t, "mcp-server-memory")
			cmd.Env = append(cmd.Env, "MEMORY_FILE_PATH="+filepath.Join(t.TempDir(), "memory.json"))
			return cmd
		}, callTool("read_graph", map[string]any{}, "entities"), true},
		"go-sdk example": {sdkExample, listTools, false},
	} {
		t.Run(name, func(t *testing.T) {
			for how, end := range map[string]func(*testing.T, *stdio.Session, *stdio.Transport){
				"Close": func(t *testing.T, s *stdio.Session, _ *stdio.Transport) { require.NoError(t, s.Close()) },
				"Stop":  func(t *testing.T, _ *stdio.Session, tr *stdio.Transport) { require.NoError(t, tr.Stop(t.Context())) },
				"killed wrapper": func(t *testing.T, s *stdio.Session, tr *stdio.Transport) {
					require.NoError(t, proctable.Signal(leader(t, tr.Command.Process.Pid).ID(), syscall.SIGKILL))
					require.Error(t, s.Wait())
					require.ErrorContains(t, tr.Err(), "SIGKILL")
				},
			} {
				t.Run(how, func(t *testing.T) {
					leakcheck.VerifyNone(t)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					transport := &stdio.Transport{Command: c.command(t)}
					client := mcp.NewClient(&mcp.Implementation{Name: "integration", Version: "1"}, nil)
					session, err := stdio.Connect(ctx, client, transport, nil)
					require.NoError(t, err)
					defer session.Close()
					c.use(t, ctx, session.ClientSession)

					all, err := proctable.List()
					require.NoError(t, err)
					tree := proctable.Descendants(all, transport.Command.Process.Pid)
					require.Equal(t, c.wrapped, len(tree) > 1)
					end(t, session, transport)
					for _, p := range tree {
						now, err := proctable.Lookup(p.PID)
						require.False(t, err == nil && now.ID() == p.ID() && now.Alive(), "%v lives", proctable.Argv(p.PID))
					}
				})
			}
		})
	}
}

// leader returns the process that the command has become: the child of a guardian,
// where there is one.
func leader(t *testing.T, pid int) proctable.Process {
	t.Helper()
	all, err := proctable.List()
	require.NoError(t, err)
	if proctable.Argv(pid)[0] == "stdioguard-guardian" {
		return proctable.Descendants(all, pid)[0]
	}
	p, err := proctable.Lookup(pid)
	require.NoError(t, err)
	return p
}

// The same with the SDK's own transport: killing the wrapper loses the server.
// It proves that the test above can fail.
func TestWithoutProtectionTheServerSurvivesItsWrapper(t *testing.T) {
	cmd := npx(t, "mcp-server-everything")
	client := mcp.NewClient(&mcp.Implementation{Name: "integration", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 100 * time.Millisecond}, nil)
	require.NoError(t, err)
	all, err := proctable.List()
	require.NoError(t, err)
	tree := proctable.Descendants(all, cmd.Process.Pid)
	require.NotEmpty(t, tree)
	require.NoError(t, cmd.Process.Kill())
	survivors := 0
	for _, p := range tree {
		if now, err := proctable.Lookup(p.PID); err == nil && now.ID() == p.ID() && now.Alive() {
			survivors++
			proctable.Signal(p.ID(), syscall.SIGKILL)
		}
	}
	require.NotZero(t, survivors)
	session.Close()
}
