package leakcheck_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
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

// goTest runs go test on packages below testdata/leaks at once, as CI does. Their
// tests run beside each other.
func goTest(t *testing.T, args []string, packages ...string) map[string]*verdict {
	t.Helper()
	args = append([]string{"test", "-json", "-count=1", "-vet=off", "-p=8", "-parallel=4"}, args...)
	for _, p := range packages {
		args = append(args, "./testdata/leaks/"+p)
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

// packagesThatLeak, and the tests of them that fail: none where it is VerifyTestMain
// that finds the leak, or where all is cut off in the middle of a test. What is said is
// in the golden files.
var packagesThatLeak = map[string][]string{
	"daemon":     nil, // setsid
	"doublefork": {"TestDoubleFork"},
	"exiter":     nil,
	"fatal":      {"TestFatal"},
	"fixture":    nil,
	"forgetful":  {"TestChild"},
	"helpless":   {"TestHelpless"},
	"holder":     nil,
	"orphan":     {"TestOrphan"},
	"overtime":   nil,
	"panicker":   nil,
	"parallel":   {"TestGuilty"},
	"stopped":    {"TestStopped"},
	"unmarked":   nil,
	"wiped":      {"TestWiped"},
	"zombie":     {"TestZombie"},
}

// Packages with a leak fail, each for its own and for nobody else's, and go test ends;
// their repaired twins pass.
func TestPackagesThatLeakFailAndTheirTwinsPass(t *testing.T) {
	dirs, err := os.ReadDir("testdata/leaks") // which the ... of the go command passes over
	require.NoError(t, err)
	var packages []string
	for _, dir := range dirs {
		if dir.Name() != "overtime" {
			packages = append(packages, dir.Name())
		}
	}
	overtime := make(chan map[string]*verdict)
	go func() { overtime <- goTest(t, []string{"-timeout=3s"}, "overtime") }()
	// The go command waits for a tenth of the timeout for a stdout to be closed: long enough for
	// a janitor on a busy machine, and shorter than any leak lives.
	verdicts := goTest(t, []string{"-timeout=200s"}, packages...)
	verdicts["overtime"] = (<-overtime)["overtime"]

	require.Len(t, verdicts, 2*len(packagesThatLeak))
	for name, failed := range packagesThatLeak {
		t.Run(name, func(t *testing.T) {
			v := verdicts[name]
			require.NotNil(t, v)
			require.Equal(t, "fail", v.action, v.output)
			require.Equal(t, failed, v.failed, v.output)
			golden(t, "leaks/"+name, anonymous(reportIn(v.output)))
			require.NotContains(t, v.output, "WaitDelay", "go test has waited for a leak")
			require.NotContains(t, v.output, "I/O incomplete", "go test has waited for a leak")

			twin := verdicts[name+"_repaired"]
			require.NotNil(t, twin)
			require.Equal(t, "pass", twin.action, twin.output)
			require.Empty(t, reportIn(twin.output))
		})
	}
	require.NoError(t, leakcheck.Find(), "reported, but not killed")
}

// reportIn returns the lines of a report, without what package testing puts before them.
func reportIn(output string) string {
	const begin = "leakcheck: "
	var report strings.Builder
	inside := false
	for line := range strings.Lines(output) {
		if i := strings.Index(line, begin); i >= 0 {
			inside = true
			report.WriteString(line[i:])
		} else if inside = inside && strings.HasPrefix(line, "    "); inside {
			report.WriteString("  " + strings.TrimPrefix(line, "        "))
		}
	}
	return report.String()
}

// anonymous takes out of a report what differs from run to run.
func anonymous(report string) string {
	for _, r := range [][2]string{
		{`pid \d+`, "pid N"}, {`pgid \d+`, "pgid N"}, {`for [\d.]+m?s`, "for T"},
		{`  running  `, "  sleeping  "}, // at the moment
		{`(?m)^ +pid`, "    pid"},
		{`(?m)^    pid (.*)\(descendant\)`, "      pid $1(descendant)"},
	} {
		report = regexp.MustCompile(r[0]).ReplaceAllString(report, r[1])
	}
	return report
}
