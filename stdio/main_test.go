package stdio_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func TestMain(m *testing.M) {
	servers.Main()
	if err := fakeNpx(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leakcheck.VerifyTestMain(m)
}

// fakeNpx puts a stand-in for npx, which the README's sample starts, first in PATH.
// It is no file that this process makes: those who are killed, and those who were
// started with flags that are refused, could not remove it.
func fakeNpx() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		return err
	}
	os.Setenv("STDIO_TEST_BINARY", self)
	return os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// The sample of the README is the Example that runs.
func TestReadmeShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, body, ok := strings.Cut(string(source), "func Example() {\n")
	require.True(t, ok)
	body, _, ok = strings.Cut(body, "\t// Output:")
	require.True(t, ok)
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	for line := range strings.Lines(body) {
		require.Contains(t, string(readme), strings.TrimPrefix(line, "\t"))
	}
}

// A suite that ends before its clean-up, here because its flags are refused, leaves
// nothing in the directory for temporary files.
func TestASuiteThatIsCutShortLeavesNoFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: TMPDIR means nothing here")
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=[")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	require.ErrorContains(t, err, "exit status", string(out))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
