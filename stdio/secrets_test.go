//go:build unix

package stdio_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/stdio"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// Arguments and environment hold tokens and passwords: in whichever phase a server
// fails, no form of the error shows them.
func TestErrorsKeepSecrets(t *testing.T) {
	const secret = "hunter2-T0PS3CRET"
	dir := t.TempDir()
	argument := func(cmd *exec.Cmd) *exec.Cmd { cmd.Args = append(cmd.Args, "--token="+secret); return cmd }
	inDir := exec.Command("true")
	inDir.Dir = filepath.Join(dir, "missing")
	nul := exec.Command("true")
	nul.Env = []string{"TOKEN=" + secret + "\x00"}
	tooBig := func() *exec.Cmd {
		cmd := servers.Command("ordinary")
		cmd.Env = append(cmd.Env, "HUGE="+strings.Repeat(secret, 10_000_000/len(secret)))
		return cmd
	}
	for name, c := range map[string]struct {
		command *exec.Cmd
		phase   stdio.Phase
	}{
		"resolve, program":     {exec.Command("no-such-program-here"), stdio.PhaseResolve},
		"resolve, path":        {exec.Command(filepath.Join(dir, "missing")), stdio.PhaseResolve},
		"resolve, directory":   {inDir, stdio.PhaseResolve},
		"resolve, variable":    {nul, stdio.PhaseResolve},
		"spawn":                {tooBig(), stdio.PhaseSpawn},
		"spawn, by a guardian": {tooBig(), ""}, // which is too big itself then
		"handshake, exits":     {servers.Command("brittle"), stdio.PhaseHandshake},
		"handshake, refuses":   {servers.Command("refuser"), stdio.PhaseHandshake},
		"handshake, version":   {servers.Command("antique"), stdio.PhaseHandshake},
		"handshake, no output": {servers.Command("closer"), stdio.PhaseHandshake},
		"running":              {servers.Command("suicide"), stdio.PhaseRunning},
		"stopping":             {servers.Command("stubborn"), stdio.PhaseStopping},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := argument(c.command)
			if cmd.Env == nil {
				cmd.Env = os.Environ()
			}
			cmd.Env = append(cmd.Env, "API_KEY="+secret)
			transport := &stdio.Transport{Command: cmd, TerminateDuration: short}
			transport.Group.NoGuardian = name == "spawn"
			var errs []error
			session, err := stdio.Connect(t.Context(), newClient(), transport, nil)
			if err == nil {
				if c.phase == stdio.PhaseRunning {
					errs = append(errs, call(session))
				}
				errs = append(errs, session.Close(), call(session))
			} else {
				errs = append(errs, err)
			}
			errs = append(errs, transport.Err(), transport.Stop(t.Context()))
			seen := false
			for _, err := range errs {
				if err == nil {
					continue // where Connect alone has failed
				}
				text := fmt.Sprintf("%s %v %+v", err, err, err)
				for e := err; e != nil; e = errors.Unwrap(e) {
					text += e.Error()
				}
				var typed *stdio.Error
				if errors.As(err, &typed) {
					seen = true
					if c.phase != "" {
						require.Equal(t, c.phase, typed.Phase)
					}
					data, err := json.Marshal(typed)
					require.NoError(t, err)
					text += string(data)
				}
				require.False(t, strings.Contains(text, secret), "%.2000s", text)
			}
			require.True(t, seen)
		})
	}
}
