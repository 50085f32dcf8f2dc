package procgroup_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// hosts are hosts with a part of their own, by the event that the test asks for.
var hosts = map[string]func() int{
	"start":       startOnly,
	"leak":        leak,
	"containment": containment,
	"signals":     signals,
	"nest":        nest,
	"late":        late,
}

// A hostProcess is this test binary, or another program, as a host.
type hostProcess struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// startHost starts a host and ends it with the test.
func startHost(t *testing.T, cmd *exec.Cmd) *hostProcess {
	t.Helper()
	h := &hostProcess{cmd: cmd}
	var err error
	if cmd.Stdin == nil {
		h.in, err = cmd.StdinPipe()
		require.NoError(t, err)
	}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	h.out = bufio.NewReader(out)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return h
}

// line reads what the host says next. A host that hangs is killed, and says nothing.
func (h *hostProcess) line(t *testing.T) string {
	t.Helper()
	bound := time.AfterFunc(40*time.Second, func() { h.cmd.Process.Kill() })
	defer bound.Stop()
	line, err := h.out.ReadString('\n')
	require.NoError(t, err, "the host says no more than %q", line)
	return strings.TrimSuffix(line, "\n")
}

// proceed lets a host go on that waits for a line.
func (h *hostProcess) proceed(t *testing.T) {
	t.Helper()
	_, err := io.WriteString(h.in, "\n")
	require.NoError(t, err)
}

// nest is a host whose server is a host with a server.
func nest() int {
	cmd := hostCommand("return from main") // not before a line comes, which never does
	stdin, err := cmd.StdinPipe()
	must(err)
	defer stdin.Close()
	_, err = procgroup.Start(context.Background(), cmd)
	must(err)
	fmt.Println("started")
	select {}
}

func TestHostInsideAHostEndsWithIt(t *testing.T) {
	w := servers.NewWitness(t)
	h := startHost(t, w.Watch(hostCommand("nest")))
	require.Equal(t, "started", h.line(t))
	w.Await(t, "clan", "stubborn-sleeper", "stubborn-sleeper", "stubborn-sleeper")
	before := len(offspring(t))
	require.Greater(t, before, 6, "two hosts, two guardians, four servers: the kill would prove nothing")
	require.NoError(t, h.cmd.Process.Kill())
	require.True(t, w.Emptied(20*time.Second), w.Alive())
	require.Eventually(t, func() bool { return len(offspring(t)) == 0 }, 20*time.Second, 5*time.Millisecond)
}

// late is a host that starts its server when the test has done something to it. It
// says whose child the server is.
func late() int {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	g, err := procgroup.Start(context.Background(), exec.Command("sleep", "60"))
	must(err)
	server, err := proctable.Lookup(g.Pid())
	must(err)
	fmt.Println("guarded", server.PPID != os.Getpid())
	must(g.Stop(context.Background()))
	return 0
}

// An update replaces the file of a program that runs.
func TestHostWhoseFileIsGone(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"deleted":  os.Remove,
		"replaced": func(path string) error { return os.Rename(file(t, "#!/bin/false\n", 0o755), path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "host")
			copySelf(t, path)
			cmd := hostCommand("late")
			cmd.Path = path
			h := startHost(t, cmd)
			require.Equal(t, "ready", h.line(t))
			require.NoError(t, change(path))
			h.proceed(t)
			require.Equal(t, "guarded true", h.line(t))
			require.NoError(t, h.cmd.Wait())
		})
	}
}

func copySelf(t *testing.T, path string) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, servers.WriteProgram(path, self, 0o755))
}
