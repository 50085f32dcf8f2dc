package guardian_test

import (
	"go/build"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One more import, and the guardian runs after the inits of half the program.
func TestPackageIsALeaf(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "freebsd", "windows"} {
		context := build.Default
		context.GOOS = goos
		pkg, err := context.ImportDir(".", 0)
		require.NoError(t, err)
		for _, path := range pkg.Imports {
			require.Contains(t, []string{"syscall", "unsafe"}, path, goos)
		}
	}
}

// What syscall itself needs comes before os, time and fmt as well.
func TestNothingBelowTheLeafIsLate(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "freebsd"} {
		cmd := exec.Command("go", "list", "-deps", ".")
		cmd.Env = append(cmd.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		require.NoError(t, err)
		for dep := range strings.Lines(string(out)) {
			require.NotContains(t, []string{"os", "time", "fmt"}, strings.TrimSpace(dep), goos)
		}
	}
}
