//go:build unix

package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inProcess is a server without a process: it speaks through the pipes of a
// transport from within this test, until it is killed.
type inProcess struct {
	*fakeProcess
	refuses bool // to initialize
}

func (p inProcess) as(t *Transport) *Transport {
	t.start = func(_ context.Context, cmd *exec.Cmd) (process, error) {
		in, err := reopen(cmd.Stdin.(*os.File))
		if err != nil {
			return nil, err
		}
		out, err := reopen(cmd.Stdout.(*os.File))
		if err != nil {
			in.Close()
			return nil, err
		}
		go p.serve(in, out)
		go func() { // no process, no descriptors
			<-p.done
			closeAll(in, out)
		}()
		return p.fakeProcess, nil
	}
	return t
}

func (p inProcess) serve(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.ID == nil {
			continue
		}
		answer := `"result":{"content":[]}`
		switch {
		case r.Method == methodDiscover, r.Method == methodInitialize && p.refuses:
			answer = `"error":{"code":-32000,"message":"no license for this host"}`
		case r.Method == methodInitialize:
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", r.ID, answer)
	}
	p.event("end of file")
}

func newTestClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
}

// reopen returns another descriptor of the same pipe, as a child has one.
func reopen(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
