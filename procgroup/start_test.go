//go:build unix

package procgroup_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// file writes a file and returns its path.
func file(t *testing.T, content string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, servers.WriteProgram(path, []byte(content), mode))
	return path
}

func TestStartErrorsNameTheCulprit(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	plain := file(t, "#!/bin/sh\n", 0o644)
	noInterpreter := file(t, "#!"+missing+" -x\n", 0o755)
	crlf := file(t, "#!/bin/sh\r\nexit 0\r\n", 0o755)
	nonsense := file(t, "\x01\x02\x03", 0o755)
	started := exec.Command("true")
	require.NoError(t, started.Run())

	in := func(dir string) *exec.Cmd {
		cmd := exec.Command("true")
		cmd.Dir = dir
		return cmd
	}
	with := func(attr syscall.SysProcAttr) *exec.Cmd {
		cmd := exec.Command("true")
		cmd.SysProcAttr = &attr
		return cmd
	}
	with0 := func(kv string) *exec.Cmd {
		cmd := exec.Command("true")
		cmd.Env = []string{kv}
		return cmd
	}
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o755))
	inPath := exec.Command("no-such-program-here")
	inPath.Env = []string{"PATH=" + dir}

	for name, c := range map[string]struct {
		cmd        *exec.Cmd
		config     procgroup.Config
		what, path string
		is         error
	}{
		"nil command":          {nil, procgroup.Config{}, "command", "", os.ErrInvalid},
		"already started":      {started, procgroup.Config{}, "command", started.Path, os.ErrInvalid},
		"negative grace":       {exec.Command("true"), procgroup.Config{Grace: -time.Second}, "Config.Grace", "-1s", os.ErrInvalid},
		"odd leftovers":        {exec.Command("true"), procgroup.Config{Leftovers: 7}, "Config.Leftovers", "7", os.ErrInvalid},
		"missing directory":    {in(missing), procgroup.Config{}, "directory", missing, fs.ErrNotExist},
		"directory is a file":  {in(plain), procgroup.Config{}, "directory", plain, nil},
		"program not in PATH":  {inPath, procgroup.Config{}, "program", "no-such-program-here", exec.ErrNotFound},
		"program missing":      {exec.Command(missing), procgroup.Config{}, "program", missing, fs.ErrNotExist},
		"no run bit":           {exec.Command(plain), procgroup.Config{}, "program", plain, fs.ErrPermission},
		"program is directory": {exec.Command(dir), procgroup.Config{}, "program", dir, fs.ErrPermission},
		"interpreter missing":  {exec.Command(noInterpreter), procgroup.Config{}, "interpreter", missing, fs.ErrNotExist},
		"interpreter with CR":  {exec.Command(crlf), procgroup.Config{}, "interpreter", "/bin/sh\r", fs.ErrNotExist},
		"no program at all":    {exec.Command(nonsense), procgroup.Config{}, "program", nonsense, syscall.ENOEXEC},
		"NUL in environment":   {with0("FOO=a\x00b"), procgroup.Config{}, "environment variable", "FOO", os.ErrInvalid},
		"FIFO with run bits":   {exec.Command(fifo), procgroup.Config{}, "program", fifo, fs.ErrPermission},
		"no program":           {&exec.Cmd{}, procgroup.Config{}, "program", "", os.ErrInvalid},
		"group of another":     {with(syscall.SysProcAttr{Setpgid: true, Pgid: 12345}), procgroup.Config{}, "SysProcAttr", "Pgid: 12345", os.ErrInvalid},
		"foreground":           {with(syscall.SysProcAttr{Foreground: true}), procgroup.Config{}, "SysProcAttr", "Foreground: true", os.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := c.config.Start(t.Context(), c.cmd)
			require.Nil(t, g)
			var start *procgroup.StartError
			require.ErrorAs(t, err, &start)
			require.Equal(t, c.what, start.What)
			require.Equal(t, c.path, start.Path)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "\r")
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			if c.cmd != nil && c.cmd != started {
				require.Nil(t, c.cmd.Process)
			}
		})
	}
	_, err := procgroup.Start(t.Context(), inPath)
	require.ErrorContains(t, err, dir, "it says where it has looked")
}

func TestStartWithAContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := procgroup.Start(ctx, exec.Command("true"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = procgroup.Start(t.Context(), exec.CommandContext(ctx, "true"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = procgroup.Start(nil, exec.Command("true")) //lint:ignore SA1012 the point of the test
	require.ErrorIs(t, err, os.ErrInvalid)
}

func TestProgramIsLookedUpInThePathOfTheChild(t *testing.T) {
	program := file(t, "#!/bin/sh\nexit 7\n", 0o755)
	bare := filepath.Base(program)

	cmd := exec.Command(bare)
	cmd.Env = []string{"PATH=" + filepath.Dir(program)}
	g, err := procgroup.Start(t.Context(), cmd)
	require.NoError(t, err)
	var exit *exec.ExitError
	require.True(t, errors.As(g.Wait(), &exit))
	require.Equal(t, 7, exit.ExitCode())

	cmd = exec.Command("true") // not in the child's PATH, but in the host's
	cmd.Env = []string{"PATH=" + t.TempDir()}
	_, err = procgroup.Start(t.Context(), cmd)
	require.ErrorIs(t, err, exec.ErrNotFound)
	require.ErrorContains(t, err, cmd.Path, "it says where it would have been")

	cmd = exec.Command("/bin/sh", "-c", "exit 5") // a Path that the caller has set stays
	cmd.Args[0] = bare
	cmd.Env = []string{"PATH=" + filepath.Dir(program)}
	g, err = procgroup.Start(t.Context(), cmd)
	require.NoError(t, err)
	require.ErrorContains(t, g.Wait(), "exit status 5")
}
