package procgroup_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// build builds a program below testdata, a module of its own, and returns its path.
func build(t *testing.T, name string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args := append([]string{"build", "-buildvcs=false", "-o", path}, flags...)
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = filepath.Join("testdata", name)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// needs skips a test, and says so, where a tool is missing.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("SKIPPED: no ", tool)
		}
	}
}

// hasCgo reports whether this toolchain builds cgo programs.
func hasCgo(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out)) == "1"
}

// The inits of a host's packages, which print and take their time, are no business of
// the guardian's: it has the server's stdout. However the program was built.
func TestInitsOfTheHostDoNotRunInTheGuardian(t *testing.T) {
	for name, flags := range map[string][]string{
		"plain": nil,
		"cover": {"-cover", "-coverpkg=github.com/stdioguard/stdioguard/...,./..."},
		"race":  {"-race"},
		"pie":   {"-buildmode=pie"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "race" {
				needs(t, "gcc")
				if !hasCgo(t) {
					t.Skip("SKIPPED: no cgo, which -race needs")
				}
			}
			log := filepath.Join(t.TempDir(), "log")
			require.NoError(t, os.WriteFile(log, nil, 0o600))
			cmd := exec.Command(build(t, "talker", flags...))
			cmd.Env = append(os.Environ(), "LOUD_LOG="+log, "GOCOVERDIR="+t.TempDir())
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err, string(out))
			require.Equal(t, "loud init\nguarded=true said \"hello\"\n", string(out))
			ran, err := os.ReadFile(log)
			require.NoError(t, err)
			require.Equal(t, "init\n", string(ran), "in the host, and nowhere else")
		})
	}
}

// A library cannot run its program again: that is somebody else's.
func TestLibraryHasNoGuardian(t *testing.T) {
	needs(t, "gcc")
	if !hasCgo(t) {
		t.Skip("SKIPPED: no cgo, which -buildmode=c-shared needs")
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", filepath.Join(dir, "liblibrary.so"), "./testdata/library"},
		{"gcc", "-o", filepath.Join(dir, "program"), "./testdata/library/program/program.c", "-L" + dir, "-llibrary", "-Wl,-rpath," + dir},
	} {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	out, err := exec.Command(filepath.Join(dir, "program")).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "guarded=false said \"hello\"\n", string(out))
}
