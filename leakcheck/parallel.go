package leakcheck

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// guarded: VerifyTestMain will look, when all tests are done, at what is left.
var guarded atomic.Bool

var errUnmarked = errors.New("leakcheck: cannot tell: this test is parallel and has marked no command, " +
	"so its processes look like those of the tests beside it: " +
	"call leakcheck.Mark for its commands, or guard the package with leakcheck.VerifyTestMain")

// scopeOf says what the check of a test, at its end, is to look for. A test that is
// not parallel runs alone: everything that is there is its own, or was left by
// another one before; but for those of its parents, and of parallel tests, which have
// begun and wait for their turn, where they are marked.
func scopeOf(t TestingT) (scope, error) {
	name := testName(t)
	switch {
	case !isParallel(t):
		return scope{except: marks.ofOthers(name)}, nil
	case marks.has(name) || guarded.Load():
		return scope{only: marks.ofTest(name)}, nil
	}
	return scope{}, errUnmarked
}

// isParallel asks for what package testing grants to tests that run alone and to no
// others: to set a variable of the environment, here to the value that it has. A test
// that was granted that may not become parallel any more, so this is for its end.
func isParallel(t TestingT) (parallel bool) {
	setter, ok := t.(interface{ Setenv(key, value string) })
	if !ok {
		return false
	}
	defer func() { parallel = recover() != nil }()
	setter.Setenv(proctable.TokenVar, os.Getenv(proctable.TokenVar))
	return false
}
