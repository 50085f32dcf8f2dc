//go:build unix

package stdio_test

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// In this test, npx is a stand-in that needs no network: see TestMain.
func Example() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "my-host", Version: "1.0"}, nil)
	server := &stdio.Transport{Command: exec.Command("npx", "-y", "@modelcontextprotocol/server-everything")}

	session, err := stdio.Connect(ctx, client, server, nil)
	if err != nil {
		fmt.Println(err) // one line with the cause; no process is left
		return
	}
	defer session.Close() // bounded; the whole tree is gone when it returns
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tools.Tools) > 0)
	// Output: true
}

// A server that cannot start says why, and the error says it in one line.
func ExampleConnect_brokenServer() {
	client := mcp.NewClient(&mcp.Implementation{Name: "my-host", Version: "1.0"}, nil)
	server := &stdio.Transport{Command: servers.Command("brittle"), Name: "weather"}

	_, err := stdio.Connect(context.Background(), client, server, nil)
	failure := err.(*stdio.Error)
	fmt.Println(failure.Server, failure.Phase, failure.Err, failure.Stderr)
	// Output: weather handshake exit status 3 fatal: API_KEY is not set
}
