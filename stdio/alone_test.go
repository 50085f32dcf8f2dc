package stdio_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const aloneVar = "STDIO_TEST_ALONE"

// alone reports whether this process runs the calling test and no other, so that it
// may limit the process and measure what it costs. In any other process it has the
// test run in one, in parallel with others, fails if that failed, and returns false.
func alone(t *testing.T) bool {
	t.Helper()
	t.Parallel()
	if os.Getenv(aloneVar) == t.Name() {
		return true
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.Command(os.Args[0], "-test.v", "-test.timeout=5m", "-test.run="+pattern, fmt.Sprintf("-test.short=%v", testing.Short()))
	cmd.Env = append(os.Environ(), aloneVar+"="+t.Name(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name()+" ")
	t.Logf("%s", out)
	return false
}
