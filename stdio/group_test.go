//go:build unix

package stdio_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// Group.Leftovers: what a server leaves behind when it is closed is swept, or
// kept where that is asked for.
func TestGroupLeftovers(t *testing.T) {
	for name, c := range map[string]struct {
		leftovers procgroup.Leftovers
		left      []string
	}{
		"sweep": {procgroup.Sweep, nil},
		"keep":  {procgroup.Keep, []string{"sleeper"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := servers.Shell("sh", "run sleeper </dev/null >/dev/null 2>&1 & "+servers.Exec("ordinary"))
			transport, w := zoo(t, command, atEOF)
			transport.Group.Leftovers = c.leftovers
			session := connect(t, transport)
			w.Await(t, "sleeper", "ordinary")
			require.NoError(t, call(session))
			require.NoError(t, session.Close())
			w.Left(t, c.left...)
		})
	}
}

// Group.NoGuardian: the server is a child of the host's own.
func TestGroupNoGuardian(t *testing.T) {
	for _, noGuardian := range []bool{true, false} {
		transport, w := zoo(t, servers.Command("ordinary"), atEOF)
		transport.Group.NoGuardian = noGuardian
		session := connect(t, transport)
		p, err := proctable.Lookup(w.Await(t, "ordinary")[0].PID)
		require.NoError(t, err)
		if noGuardian {
			require.Equal(t, os.Getpid(), p.PPID)
		} else if runtime.GOOS == "linux" {
			require.NotEqual(t, os.Getpid(), p.PPID, "Linux has a guardian")
		}
		require.NoError(t, session.Close())
		w.Gone(t)
	}
}

// The ladder ends its rungs itself: a Group.Grace that is shorter does not.
func TestGroupGraceIsNotUsed(t *testing.T) {
	transport, w := zoo(t, servers.Command("dawdler"), atTERM)
	transport.Group.Grace = time.Nanosecond
	session := connect(t, transport)
	require.NoError(t, session.Close())
	w.Gone(t)
	require.Equal(t, 7, transport.Command.ProcessState.ExitCode(), "it had the time to end itself")
}

// What is refused is refused before anything is done: the command is as it was.
func TestRefusedCommandsAreLeftAlone(t *testing.T) {
	running := servers.Command("sleeper")
	require.NoError(t, running.Start())
	defer running.Wait()
	defer running.Process.Kill()
	stdin, stdout := exec.Command("true"), exec.Command("true")
	stdin.Stdin, stdout.Stdout = strings.NewReader(""), new(strings.Builder)
	for name, c := range map[string]struct {
		transport *stdio.Transport
		says      string
	}{
		"negative Group.Grace":       {&stdio.Transport{Command: exec.Command("true"), Group: procgroup.Config{Grace: -time.Second}}, `Group.Grace "-1s" is negative`},
		"negative TerminateDuration": {&stdio.Transport{Command: exec.Command("true"), TerminateDuration: -1}, `TerminateDuration "-1ns" is negative`},
		"negative HandshakeTimeout":  {&stdio.Transport{Command: exec.Command("true"), HandshakeTimeout: -1}, `HandshakeTimeout "-1ns" is negative`},
		"command that already runs":  {&stdio.Transport{Command: running}, `already started`},
		"command with a stdin":       {&stdio.Transport{Command: stdin}, `"Stdin" is set`},
		"command with a stdout":      {&stdio.Transport{Command: stdout}, `"Stdout" is set`},
	} {
		t.Run(name, func(t *testing.T) {
			before := *c.transport.Command
			_, err := stdio.Connect(t.Context(), newClient(), c.transport, nil)
			require.ErrorIs(t, err, os.ErrInvalid)
			require.ErrorContains(t, err, c.says)
			after := c.transport.Command
			require.Equal(t, before.Stdin, after.Stdin)
			require.Equal(t, before.Stdout, after.Stdout)
			require.Equal(t, before.Stderr, after.Stderr)
			require.Equal(t, before.Env, after.Env)
			require.Equal(t, before.Args, after.Args)
			require.Equal(t, before.SysProcAttr, after.SysProcAttr)
			require.Equal(t, before.WaitDelay, after.WaitDelay)
			require.True(t, before.Process == after.Process, "and nothing was started")
			require.Nil(t, after.ProcessState)
		})
	}
}
