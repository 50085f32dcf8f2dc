//go:build unix

package main

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func TestMain(m *testing.M) {
	servers.Main()
	if len(os.Args) > 1 && os.Args[1] == builtinArg { // what check starts
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // or a child under -race takes a second to exit
	leakcheck.VerifyTestMain(m)
}

func stdioguard(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// zoo makes the command line that checks a server of the zoo.
func zoo(t *testing.T, flags []string, name string) []string {
	t.Helper()
	for _, kv := range servers.Command(name).Env {
		if k, v, _ := strings.Cut(kv, "="); strings.HasPrefix(k, "STDIOGUARD_ZOO") {
			t.Setenv(k, v)
		}
	}
	return append(append([]string{"check"}, flags...), "--", servers.Command(name).Path)
}

func TestCheckOfTheBuiltInServer(t *testing.T) {
	code, out, _ := stdioguard(t, "check")
	require.Equal(t, 0, code, out)
	require.Regexp(t, `(?m)^server       built-in$`, out)
	require.Regexp(t, `(?m)^handshake    done after [\d.]+m?s, protocol 2026-07-28, stdioguard built-in 1$`, out)
	require.Regexp(t, `(?m)^offers       tools: 1, resources: 1, prompts: 1$`, out)
	require.Regexp(t, `(?m)^close        ended at end of file after [\d.]+m?s, exit status 0$`, out)
	require.Regexp(t, `(?m)^left behind  nothing$`, out)
	require.Regexp(t, `(?m)^result       ok$`, out)
}

// Of a server that was started once more, the status is that of its second life.
func TestCheckTellsTheLastStatus(t *testing.T) {
	code, out, _ := stdioguard(t, zoo(t, []string{"-grace", "1m"}, "purist")...)
	require.Zero(t, code, out)
	require.Regexp(t, `(?m)^close        ended at end of file after [\d.]+m?s, exit status 0$`, out)
}

// Noise is no fault here, and others will fail at it.
func TestCheckTellsOfNoise(t *testing.T) {
	code, out, _ := stdioguard(t, append(zoo(t, nil, "chatterbox"), "up\n")...)
	require.Zero(t, code, out)
	require.Regexp(t, `(?m)^noise        \d+ lines on stdout are no messages, first "up": other clients may fail$`, out)
}

func TestCheckOfFaultyServers(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		says string
	}{
		"brittle":   {1, `FAILED: stdio: .*: handshake: exit status 3; stderr: "fatal: API_KEY is not set"`},
		"refuser":   {1, "FAILED: .*no license for this host"},
		"stubborn":  {1, "close        FAILED: .*had to be killed"},
		"deaf":      {0, "close        ended at SIGTERM"},
		"pretender": {1, "tools        FAILED: .*the tools are out of order"},
		"launcher":  {0, `processes    \S+ \(\d+\), \S+ \(\d+\)`},
	} {
		t.Run(name, func(t *testing.T) {
			grace := map[string]string{"stubborn": "100ms", "deaf": "3s", "launcher": "3s"}[name] // these use it in full
			code, out, _ := stdioguard(t, zoo(t, []string{"-grace", cmp.Or(grace, "1m")}, name)...)
			require.Equal(t, c.code, code, out)
			require.Regexp(t, c.says, out)
			require.Contains(t, out, "left behind  nothing")
		})
	}
}

func TestCheckReportsWhatIsLeft(t *testing.T) {
	left := exec.Command("sleep", "60")
	require.NoError(t, left.Start())
	defer left.Wait()
	defer left.Process.Kill()
	code, out, _ := stdioguard(t, "check")
	require.Equal(t, 1, code)
	require.Regexp(t, `left behind  FAILED: (.|\n)*"sleep" "60"`, out)
	require.Contains(t, out, "result       1 of the above failed")
}

func TestCheckThatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	require.Equal(t, 1, run(ctx, []string{"check"}, &out, &out))
	require.Contains(t, out.String(), "context canceled")
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{{}, {"nonsense"}, {"check", "-nonsense"}, {"check", "-grace", "-1s"}, {"check", "-timeout", "-1s"}} {
		code, out, errs := stdioguard(t, args...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out)
		require.NotEmpty(t, errs)
	}
	code, out, _ := stdioguard(t, "help")
	require.Equal(t, 0, code)
	require.Contains(t, out, "usage:")
	code, _, errs := stdioguard(t, "check", "-h")
	require.Equal(t, 0, code)
	require.Contains(t, errs, "-timeout")
	code, out, _ = stdioguard(t, "check", "--", "no-such-program-here")
	require.Equal(t, 1, code)
	require.Contains(t, out, `"no-such-program-here"`)
}
