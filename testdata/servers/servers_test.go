package servers

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that no test uses proves nothing and rots.
func TestEveryServerIsUsed(t *testing.T) {
	var tests strings.Builder
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") && d.Name() != "servers_test.go" {
			source, err := os.ReadFile(path)
			tests.Write(source)
			return err
		}
		return nil
	})
	require.NoError(t, err)
	inner := map[string]bool{"forker": true, "smuggler": true} // started by another server only
	for name := range zoo {
		used := strings.Contains(tests.String(), `"`+name+`"`) || strings.Contains(tests.String(), "run "+name)
		require.True(t, used || inner[name], "no test uses the server %q", name)
	}
}

func TestWitness(t *testing.T) {
	w := NewWitness(t)
	cmd := w.Watch(Command("ordinary"))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	seen := w.Await(t, "ordinary")
	require.Equal(t, cmd.Process.Pid, seen[0].PID)
	w.Left(t, "ordinary")
	stdin.Close()
	require.NoError(t, cmd.Wait())
	w.Gone(t)
}

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}
