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
// what they started. The package puts a token into the environment of the test process at
// init, so that all its children inherit it: that variable, STDIOGUARD_TOKEN, is all it
// changes, and it stays. Each process of a report was found from one of these angles:
//
//	child          of the test process
//	descendant     of it, or of one that was found
//	zombie         a child that has ended and was never waited for
//	orphan         its parent has ended, and it carries the token
//	               or was seen as a descendant at the look before
//	token carrier  the same, but its parent is somebody else
//	adopted        an orphan that came to the test process as a child,
//	               which is then a subreaper or pid 1
//	child, or      where orphans come to the test process, the two cannot be
//	adopted        told apart
//	same session,  it has lost its parents and its environment, and is in
//	same group     a session or group that was started here
//
// Data flows one way: process table -> look -> [Find] -> [LeakError] -> test. The package
// imports neither the testing package nor the rest of this module but for the
// table of processes, the leaf package of the janitor, and whether it can be had.
//
// # Parallel tests
//
// The processes of all tests that run at one time are in view, and only [Mark] tells
// whose they are. See [VerifyNone] for what is charged to whom.
//
// # Panic, -timeout, os.Exit
//
// No check is made by a test binary that is cut off. On Linux the first call of VerifyNone
// or VerifyTestMain therefore starts a janitor: the executable of the test binary once more,
// in a session of its own, which does nothing but wait for the test binary's death. It
// then kills whatever carries the token, and nobody else, says on stderr whom, and ends; it ends at
// once where VerifyTestMain has found nothing. It holds nothing of the test binary but
// stderr, is no leak itself, and is not needed: where it cannot be had, all but
// this works. A process that [IgnoreCommand] has passed over in a check, or that [KeepAlive] has
// kept, lives on. A helper, which is the test binary run again by its own tests, has
// no janitor: what it leaves is in view of the test that has started it.
//
// # Limits
//
// A process that has lost its parents is found by the token: not where it, or
// the test by a cmd.Env of its own, has left that out of its environment, unless it has
// company in its session or group. Nor is, on systems other than Linux, one whose
// environment the system hides, and anywhere one that has changed to another user. Where
// orphans come to the test process, zombies are not charged: they may be others'. Where
// the table itself cannot be read, the check fails. The short-lived process that the go
// command leaves behind to look after its statistics is no leak.
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
// otherwise, on a machine that is too busy to look often for up to 10: see [Within].
// All functions of the package may be called at once.
//
// A process that is meant to be there, such as a fixture of TestMain, is found, and
// killed, as well: name it with [IgnoreCurrent] or [IgnorePID].
//
// Call it as the first line of a test: functions registered with t.Cleanup run
// last in, first out, so the check then comes after all that the test cleans up
// itself, by defer or by t.Cleanup. As a deferred call it works too, but then looks
// before the functions that were registered with t.Cleanup have run, and after those that
// were deferred behind it.
//
// A test that runs alone is charged with all that is there, its own or not, but for
// what is marked by a parent of it, or by a parallel test that has begun and
// waits for its turn. A parallel test, or one with a parallel parent, is
// charged with what it and its subtests have marked: see [Mark]. What is unmarked there is
// [VerifyTestMain]'s; a parallel test that has marked nothing in a package without
// that cannot be checked, and fails. It is asked at its end whether it is parallel,
// by a call of its Setenv, which is refused to such tests.
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
// something was found. Like VerifyNone it reports and kills what it finds. What parallel
// tests have left without a mark, and their zombies, are found here only.
//
// It does not return: what a TestMain sets up and takes down belongs into the Run of
// m, as in the second example. A process that is started there is there in every
// test: name it with [IgnoreCurrent].
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
