package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"

	mcptransport "github.com/mark3labs/mcp-go/client/transport"
	mcpgolib "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdioguard/stdioguard/stdio"
)

// wire is a connection below the session: messages out, messages in, nobody reads
// what they say. exchange asks for so many replies of so many bytes each, without
// waiting for one before it asks for the next, and returns when all are there.
type wire struct {
	exchange func(ctx context.Context, size, count int) error
	close    func() error
}

var wires = map[string]func(context.Context, *exec.Cmd) (*wire, error){
	ours: func(ctx context.Context, cmd *exec.Cmd) (*wire, error) {
		return openConnection(ctx, &stdio.Transport{Command: cmd})
	},
	sdk: func(ctx context.Context, cmd *exec.Cmd) (*wire, error) {
		return openConnection(ctx, &mcp.CommandTransport{Command: cmd})
	},
	mcpgo: openMCPGo,
	plain: openPipe,
}

func toolOf(size int) string { return fmt.Sprint(size) }

func callLine(id int, tool string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`+"\n", id, tool)
}

// openConnection takes the handshake first: a transport may do things of its own
// until then.
func openConnection(ctx context.Context, t mcp.Transport) (*wire, error) {
	c, err := t.Connect(ctx)
	if err != nil {
		return nil, err
	}
	last := int64(1)
	send := func(ctx context.Context, id int64, method, params string) error {
		request := &jsonrpc.Request{Method: method, Params: []byte(params)}
		if id > 0 {
			request.ID, _ = jsonrpc.MakeID(float64(id))
		}
		return c.Write(ctx, request)
	}
	err = errors.Join(
		send(ctx, 1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`),
		readAll(ctx, c, 1),
		send(ctx, 0, "notifications/initialized", `{}`))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	exchange := func(ctx context.Context, size, count int) error {
		params := `{"name":"` + toolOf(size) + `"}`
		sent := make(chan error, 1)
		go func() {
			var err error
			for range count {
				last++
				if err = send(ctx, last, "tools/call", params); err != nil {
					break
				}
			}
			sent <- err
		}()
		if err := readAll(ctx, c, count); err != nil {
			return err
		}
		return <-sent
	}
	return &wire{exchange: exchange, close: c.Close}, nil
}

func readAll(ctx context.Context, c mcp.Connection, count int) error {
	for range count {
		msg, err := c.Read(ctx)
		if err != nil {
			return err
		}
		if r, ok := msg.(*jsonrpc.Response); !ok || r.Error != nil {
			return fmt.Errorf("not the reply that was expected: %T", msg)
		}
	}
	return nil
}

// inFlight is how many calls are under way at once where each needs a goroutine.
const inFlight = 32

// openMCPGo has no connection to read from: its lowest level is a request that waits
// for its reply.
func openMCPGo(ctx context.Context, cmd *exec.Cmd) (*wire, error) {
	t := mcptransport.NewStdioWithOptions(cmd.Path, nil, cmd.Args[1:],
		mcptransport.WithCommandFunc(func(context.Context, string, []string, []string) (*exec.Cmd, error) { return cmd, nil }))
	if err := t.Start(context.Background()); err != nil {
		return nil, err
	}
	var last atomic.Int64
	exchange := func(ctx context.Context, size, count int) error {
		return callers(min(inFlight, count), count, func() error {
			_, err := t.SendRequest(ctx, mcptransport.JSONRPCRequest{
				JSONRPC: "2.0", ID: mcpgolib.NewRequestId(last.Add(1)), Method: "tools/call",
				Params: map[string]any{"name": toolOf(size)},
			})
			return err
		})
	}
	return &wire{exchange: exchange, close: t.Close}, nil
}

// callers makes count calls from so many goroutines.
func callers(goroutines, count int, call func() error) error {
	var left atomic.Int64
	left.Store(int64(count))
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				errs[i] = call()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func openPipe(_ context.Context, cmd *exec.Cmd) (*wire, error) {
	w, err := openRaw(cmd)
	if err != nil {
		return nil, err
	}
	exchange := func(_ context.Context, size, count int) error {
		sent := make(chan error, 1)
		go func() {
			var err error
			for i := range count {
				if _, err = w.in.Write(callLine(i+1, toolOf(size))); err != nil {
					break
				}
			}
			sent <- err
		}()
		for range count {
			line, err := w.next()
			if err != nil {
				return err
			}
			if len(line) != size && size > 0 {
				return fmt.Errorf("a line of %d bytes, not %d", len(line), size)
			}
		}
		return <-sent
	}
	return &wire{exchange: exchange, close: w.close}, nil
}

// lineReader is the least that one can do with a stream of lines: a buffer as large
// as the pipe, and a copy for what does not fit into it.
func lineReader(r io.Reader) func() ([]byte, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	return func() ([]byte, error) {
		long = long[:0]
		for {
			part, err := in.ReadSlice('\n')
			if err == nil && len(long) == 0 {
				return part, nil
			}
			long = append(long, part...)
			if err != bufio.ErrBufferFull {
				return long, err
			}
		}
	}
}
