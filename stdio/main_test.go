package stdio_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "npx" {
		servers.Run("ordinary")
	}
	servers.Main()
	dir, err := fakeNpx()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leakcheck.VerifyTestMain(cleaning{m, dir})
}

// fakeNpx puts this test binary first in PATH under the name that the README's
// sample starts.
func fakeNpx() (dir string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "stdio-test"); err != nil {
		return "", err
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir, os.Symlink(self, filepath.Join(dir, "npx"))
}

// cleaning removes a directory after the tests; VerifyTestMain exits.
type cleaning struct {
	m   *testing.M
	dir string
}

func (c cleaning) Run() int {
	defer os.RemoveAll(c.dir)
	return c.m.Run()
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
