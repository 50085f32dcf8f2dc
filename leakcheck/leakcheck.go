// Package leakcheck finds the processes that a test left behind.
//
// One line guards a test, one a package:
//
//	func TestServer(t *testing.T) {
//		leakcheck.VerifyNone(t)
//		...
//	}
//
//	func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }
//
// It works for children started in any way, by plain os/exec as well, and for
// what they started: a process is found as a child or descendant of the test
// process, or, after its parents died or it detached itself, by a token that
// this package puts into the environment of the test process at init. That
// variable, STDIOGUARD_TOKEN, is all it changes. A child that has ended but was
// never waited for is a leak as well: a zombie.
//
// Data flows one way: process table -> [Find] -> [LeakError] -> test. The package
// imports neither the testing package nor the rest of this module but for the
// table of processes.
//
// # Limits
//
// A process that has lost its parents is found by the token only: not where it, or
// the test by a cmd.Env of its own, has left that out of its environment.
// Neither is, on systems other than Linux, one whose environment the system
// hides. Where the table itself cannot be read, the check fails.
package leakcheck

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// token marks everything that this process starts. The hash tells a helper, which is
// the test binary run again by its tests, from the test binary.
var token = proctable.NewToken() + suffix()

// helper: this process was started, by whatever way, by one that runs the same file
// and looks after it.
var helper bool

func init() {
	list := os.Getenv(proctable.TokenVar)
	if list == "" {
		os.Setenv(proctable.TokenVar, token)
		return
	}
	helper = slices.ContainsFunc(strings.Split(list, ","), func(t string) bool { return strings.HasSuffix(t, suffix()) })
	os.Setenv(proctable.TokenVar, list+","+token)
}

func suffix() string {
	path, _ := os.Executable()
	hash := fnv.New32a()
	hash.Write([]byte(path))
	return fmt.Sprintf("-%08x", hash.Sum32())
}

// TestingT is what the package needs of a *testing.T.
type TestingT interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// TestingM is what the package needs of a *testing.M.
type TestingM interface {
	Run() int
}

// VerifyNone registers a check with t.Cleanup: the test fails if a process that
// this test binary caused is still there. What was found is reported and then
// killed, so that one leak does not fail the next ten tests or keep `go test` from
// ending. The check returns at once when nothing is there and waits for up to 2 s
// otherwise: see [Within]. All functions of the package may be called at once.
//
// A process that is meant to be there, such as a fixture of TestMain, is found, and
// killed, as well: name it with [IgnoreCurrent] or [IgnorePID].
//
// Call it as the first line of a test: functions registered with t.Cleanup run
// last in, first out, so the check then comes after all that the test cleans up
// itself. As a deferred call it works too, but then looks before the functions
// that were registered with t.Cleanup have run. Do not use it in parallel tests:
// the processes of all of them are in view, and the first check to run would kill
// those of the others. Guard such a package with [VerifyTestMain].
func VerifyNone(t TestingT, opts ...Option) {
	t.Helper()
	janitor.engage()
	t.Cleanup(func() {
		t.Helper()
		s, err := scopeOf(t)
		if err != nil {
			t.Errorf("%s", err)
		} else if report := verify(s, opts); report != "" {
			t.Errorf("%s", report)
		}
	})
}

// VerifyTestMain runs the tests of a package, then looks for processes that
// they left behind, and exits with m's code, or with 1 where that was 0 and
// something was found. Like VerifyNone it reports and kills what it finds.
func VerifyTestMain(m TestingM, opts ...Option) {
	janitor.engage()
	guarded.Store(true)
	code := m.Run()
	if report := verify(scope{}, opts); report != "" {
		os.Stderr.WriteString(report + "\n")
		if code == 0 {
			code = 1
		}
	}
	janitor.dismiss()
	os.Exit(code)
}

// Find returns nil if this process has left nothing behind, and a [*LeakError]
// that lists every survivor otherwise. It kills nothing. It looks again, at first
// after a millisecond, until nobody is left or the settle time is over: see
// [Within]. Any other error means that it could not look.
func Find(opts ...Option) error { return newSearch(scope{}, opts).run() }
