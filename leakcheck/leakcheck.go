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
// this package puts into the environment of the test process at init, and that
// every child inherits. That variable, STDIOGUARD_TOKEN, is all it changes. A
// child that has ended but was never waited for is a leak as well: a zombie.
//
// Data flows one way: process table -> [Find] -> [LeakError] -> test. The package
// imports neither the testing package nor the rest of this module but for the
// table of processes.
//
// # Limits
//
// A process that has lost its parents and wiped its environment is not found.
// Neither is, on systems other than Linux, one whose environment the system
// hides. Where the table itself cannot be read, the check fails.
package leakcheck

import (
	"os"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// token marks everything that this process starts.
var token = proctable.NewToken()

func init() {
	if list := os.Getenv(proctable.TokenVar); list != "" {
		os.Setenv(proctable.TokenVar, list+","+token)
		return
	}
	os.Setenv(proctable.TokenVar, token)
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
// it caused is still there. What was found is reported and then killed, so that
// one leak does not fail the next ten tests or keep `go test` from ending.
//
// Call it as the first line of a test: functions registered with t.Cleanup run
// last in, first out, so the check then comes after all that the test cleans up
// itself. As a deferred call it works too, but then looks before the functions
// that were registered with t.Cleanup have run. In parallel tests of one process
// the processes of all of them are in view: guard such a package with
// [VerifyTestMain].
func VerifyNone(t TestingT, opts ...Option) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if report := verify(opts); report != "" {
			t.Errorf("%s", report)
		}
	})
}

// VerifyTestMain runs the tests of a package, then looks for processes that
// they left behind, and exits with m's code, or with 1 where that was 0 and
// something was found. Like VerifyNone it reports and kills what it finds.
func VerifyTestMain(m TestingM, opts ...Option) {
	code := m.Run()
	if report := verify(opts); report != "" {
		os.Stderr.WriteString(report + "\n")
		if code == 0 {
			code = 1
		}
	}
	os.Exit(code)
}

// Find returns nil if this process has left nothing behind, and a [*LeakError]
// that lists every survivor otherwise. It kills nothing. It looks again, at first
// after a millisecond, until nobody is left or the settle time is over: see
// [Within]. Any other error means that it could not look.
func Find(opts ...Option) error {
	c := newConfig(opts)
	deadline := time.Now().Add(c.within)
	for step := time.Millisecond; ; step = min(2*step, 50*time.Millisecond) {
		leaks, err := look(c)
		if err != nil {
			return err
		}
		if len(leaks) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return &LeakError{Leaks: leaks}
		}
		time.Sleep(step)
	}
}
