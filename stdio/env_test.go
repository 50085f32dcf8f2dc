//go:build unix

package stdio_test

import (
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// environmentOf starts a server with env and asks what it got.
func environmentOf(t *testing.T, env []string) string {
	t.Helper()
	cmd := servers.Command("dumper")
	for _, kv := range cmd.Env { // what makes the test binary a server
		if strings.HasPrefix(kv, "STDIOGUARD_ZOO") || strings.HasPrefix(kv, "GORACE") {
			env = append(env, kv)
		}
	}
	cmd.Env = env
	session := connect(t, &stdio.Transport{Command: cmd})
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "dump"})
	require.NoError(t, err)
	return "\n" + result.Content[0].(*mcp.TextContent).Text
}

func TestSafeEnv(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	t.Setenv("WANTED", "from the host")
	t.Setenv("TERM", "dumb")
	t.Setenv("SHELL", "() { evil; }")

	require.Contains(t, environmentOf(t, os.Environ()), "hunter2", "without it the secret is handed on")

	got := environmentOf(t, stdio.SafeEnv())
	require.NotContains(t, got, "hunter2")
	require.NotContains(t, got, "WANTED")
	require.NotContains(t, got, "evil")
	require.Contains(t, got, "\nPATH="+os.Getenv("PATH")+"\n")
	require.Contains(t, got, "\nTERM=dumb\n")

	got = environmentOf(t, stdio.SafeEnv("API_KEY=a=b", "WANTED", "TERM=vt100", "NOT_THERE", "API_KEY=last"))
	require.NotContains(t, got, "hunter2")
	require.Contains(t, got, "\nAPI_KEY=last\n")
	require.NotContains(t, got, "a=b")
	require.Contains(t, got, "\nWANTED=from the host\n")
	require.Contains(t, got, "\nTERM=vt100\n")
	require.NotContains(t, got, "TERM=dumb")
	require.NotContains(t, got, "NOT_THERE")
}
