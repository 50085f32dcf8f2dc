package leakcheck_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// golden compares a report with the one in a file. With LEAKCHECK_UPDATE in the
// environment it writes the file anew.
func golden(t *testing.T, name, report string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", filepath.FromSlash(name)+".txt")
	if os.Getenv("LEAKCHECK_UPDATE") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(report), 0o644))
	}
	require.Equal(t, goldenReport(t, name), report)
}

func goldenReport(t *testing.T, name string) string {
	t.Helper()
	report, err := os.ReadFile(filepath.Join("testdata", "golden", filepath.FromSlash(name)+".txt"))
	require.NoError(t, err)
	return string(report)
}
