package procgroup_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/procgroup"
)

func init() {
	hosts["terminal"] = func() int { return prompted(procgroup.Config{Grace: 50 * time.Millisecond}) }
	hosts["terminal kept"] = func() int {
		return prompted(procgroup.Config{Grace: 50 * time.Millisecond, KeepTerminal: true})
	}
}

// prompted is a host in the foreground of a terminal, with a server that asks the
// user at that terminal for a password. It tells what the server has got of it.
func prompted(c procgroup.Config) int {
	cmd := exec.Command("sh", "-c", "echo asking; (read line </dev/tty) 2>/dev/null || echo refused; exec cat")
	stdin, err := cmd.StdinPipe()
	must(err)
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	must(err)
	g, err := c.Start(context.Background(), cmd)
	must(err)
	lines := bufio.NewReader(out)
	lines.ReadString('\n')
	answer := make(chan string, 1)
	go func() {
		line, _ := lines.ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	for stopped := false; !stopped; {
		select {
		case line := <-answer:
			fmt.Println(line)
			stopped = true
		case <-time.After(5 * time.Millisecond):
			members, err := g.Members()
			must(err)
			for _, p := range members {
				if p.State == "stopped" && !stopped {
					fmt.Println("stopped")
					stopped = true
				}
			}
		}
	}
	must(g.Stop(context.Background()))
	fmt.Println("host goes on")
	// The terminal is still the host's.
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Printf("host reads %q %v\n", line, err)
	return 0
}

// A server that reads from the terminal in the background is stopped by the kernel,
// with its whole group. The host is in another one; and by default the server has no
// terminal to read from.
func TestServerThatAsksTheTerminalDoesNotStopItsHost(t *testing.T) {
	for event, want := range map[string]string{"terminal": "refused", "terminal kept": "stopped"} {
		t.Run(event, func(t *testing.T) {
			master, slave := openTerminal(t)
			cmd := hostCommand(event)
			cmd.Stdin = slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			h := startHost(t, cmd)
			require.Equal(t, want, h.line(t))
			require.Equal(t, "host goes on", h.line(t))
			_, err := io.WriteString(master, "typed\n")
			require.NoError(t, err)
			require.Equal(t, `host reads "typed\n" <nil>`, h.line(t))
			require.NoError(t, h.cmd.Wait())
		})
	}
}
