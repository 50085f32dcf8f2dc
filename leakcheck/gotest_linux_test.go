package leakcheck_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/leakcheck"
)

// verdict is what go test says of one package.
type verdict struct {
	output string
	action string
	failed []string // tests
}

// goTest runs go test on all packages below testdata at once, as CI does. Their tests
// run beside each other.
func goTest(t *testing.T) map[string]*verdict {
	t.Helper()
	args := []string{"test", "-json", "-count=1", "-p=8", "-timeout=50s"}
	packages, err := os.ReadDir("testdata") // which the ... of the go command passes over
	require.NoError(t, err)
	for _, dir := range packages {
		args = append(args, "./testdata/"+dir.Name())
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second // a leak of these packages may hold what we read
	out, err := cmd.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "some of them leak")
	verdicts := make(map[string]*verdict)
	for events := json.NewDecoder(bytes.NewReader(out)); ; {
		var e struct{ Action, Package, Test, Output string }
		err := events.Decode(&e)
		if errors.Is(err, io.EOF) {
			return verdicts
		}
		require.NoError(t, err)
		if e.Package == "" {
			continue // of the build
		}
		v := verdicts[path.Base(e.Package)]
		if v == nil {
			v = &verdict{}
			verdicts[path.Base(e.Package)] = v
		}
		v.output += e.Output
		switch {
		case e.Test == "" && (e.Action == "pass" || e.Action == "fail"):
			v.action = e.Action
		case e.Action == "fail":
			v.failed = append(v.failed, e.Test)
		}
	}
}

// Packages with a leak fail, each for its own and for nobody else's, and go test ends;
// their repaired twins pass.
func TestPackagesThatLeakFailAndTheirTwinsPass(t *testing.T) {
	verdicts := goTest(t)
	for name, want := range map[string]struct {
		failed []string // by VerifyNone; VerifyTestMain fails no test
		says   []string
	}{
		"forgetful": {[]string{"TestChild"}, []string{"leakcheck: 1 process was left behind:", "(child)", "sleep"}},
		"holder":    {nil, []string{"leakcheck: 1 process was left behind:", "(child)", "sleep"}},
		"daemon":    {nil, []string{"leakcheck: 1 process was left behind:", "(orphan", "sleep"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdicts[name]
			require.NotNil(t, v)
			require.Equal(t, "fail", v.action, v.output)
			require.Equal(t, want.failed, v.failed)
			require.Equal(t, 1, strings.Count(v.output, "left behind"), v.output)
			for _, says := range want.says {
				require.Contains(t, v.output, says)
			}
			require.NotContains(t, v.output, "WaitDelay", "go test has waited for a leak")

			twin := verdicts[name+"_repaired"]
			require.NotNil(t, twin)
			require.Equal(t, "pass", twin.action, twin.output)
			require.NotContains(t, twin.output, "left behind")
		})
	}
	require.NoError(t, leakcheck.Find(), "reported, but not killed")
}
