package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// contest runs a benchmark for every size of replies and number of callers, the
// contenders side by side: what is worth knowing is the ratio of their times in
// one run.
func contest(b *testing.B, contenders []string, run func(b *testing.B, contender string, size, callers int)) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"100B", 100}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}, {"8MiB", 8 << 20}} {
		for _, callers := range []int{1, 32} {
			for _, contender := range contenders {
				b.Run(fmt.Sprintf("%s/callers=%d/%s", size.name, callers, contender), func(b *testing.B) {
					b.SetBytes(int64(size.bytes))
					b.ReportAllocs()
					run(b, contender, size.bytes, callers)
				})
			}
		}
	}
}

// BenchmarkConnection measures the bare connection: a request is written and its
// reply is read, with as many requests on their way as there are callers. "raw" does
// that with two pipes and a reader of lines, each of which it may keep as one keeps a
// message, and decodes nothing.
func BenchmarkConnection(b *testing.B) {
	contest(b, []string{"stdioguard", "CommandTransport", "raw"}, func(b *testing.B, contender string, size, callers int) {
		var l link
		switch cmd := servers.Command("bulky"); contender {
		case "stdioguard":
			l = openLink(b, &stdio.Transport{Command: cmd})
		case "CommandTransport":
			l = openLink(b, &mcp.CommandTransport{Command: cmd})
		case "raw":
			l = openRaw(b)
		}
		exchange(b, l, size, callers)
	})
}

// BenchmarkCallTool measures what a caller of tools sees.
func BenchmarkCallTool(b *testing.B) {
	contest(b, []string{"stdioguard", "CommandTransport"}, func(b *testing.B, contender string, size, callers int) {
		var session closer
		var err error
		switch cmd := servers.Command("bulky"); contender {
		case "stdioguard":
			session, err = stdio.Connect(b.Context(), newClient(), &stdio.Transport{Command: cmd}, nil)
		case "CommandTransport":
			session, err = newClient().Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		}
		must(b, err)
		defer session.Close()
		callTools(b, session, size, callers)
	})
}

// link is a connection without a session.
type link interface {
	request(id, size int) error
	reply() error
}

// exchange does b.N round trips.
func exchange(b *testing.B, l link, size, callers int) {
	must(b, l.request(0, size)) // the server makes the reply now
	must(b, l.reply())
	b.ResetTimer()
	ahead := min(callers, b.N)
	for id := range ahead {
		must(b, l.request(id+1, size))
	}
	for id := range b.N {
		must(b, l.reply())
		if id+ahead < b.N {
			must(b, l.request(id+ahead+1, size))
		}
	}
	b.StopTimer()
}

func callTools(b *testing.B, session closer, size, callers int) {
	call := func() {
		_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: strconv.Itoa(size)})
		if err != nil {
			b.Error(err)
		}
	}
	call() // the server makes the reply now
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := i; n < b.N; n += callers {
				call()
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

type connLink struct{ mcp.Connection }

func openLink(b *testing.B, t mcp.Transport) link {
	// Not that of b: it ends before the cleanup, and would end the server.
	c, err := t.Connect(context.Background())
	must(b, err)
	b.Cleanup(func() { c.Close() })
	return connLink{c}
}

func (l connLink) request(id, size int) error {
	rid, err := jsonrpc.MakeID(float64(id))
	if err != nil {
		return err
	}
	params := json.RawMessage(fmt.Sprintf(`{"name":"%d"}`, size))
	return l.Write(context.Background(), &jsonrpc.Request{ID: rid, Method: "tools/call", Params: params})
}

func (l connLink) reply() error {
	_, err := l.Read(context.Background())
	return err
}

type rawLink struct {
	in  io.Writer
	out *bufio.Reader
}

func openRaw(b *testing.B) link {
	cmd := servers.Command("bulky")
	stdin, err := cmd.StdinPipe()
	must(b, err)
	stdout, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	b.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	return rawLink{stdin, bufio.NewReaderSize(stdout, 64<<10)}
}

func (l rawLink) request(id, size int) error {
	_, err := fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%d"}}`+"\n", id, size)
	return err
}

func (l rawLink) reply() error {
	_, err := l.out.ReadBytes('\n')
	return err
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
