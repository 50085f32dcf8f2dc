package leakcheck

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// Mark tells that a command belongs to this test, and to the tests that it is a
// subtest of, so that a check of theirs finds what the command starts and no
// check of another test charges it. Parallel tests need it: see [VerifyNone].
//
// The mark is one more token in the command's environment. Call Mark right before
// the command's Start or Run: a cmd.Env or cmd.Dir that is set later is without
// it. It is for the caller to start the command.
func Mark(t TestingT, cmd *exec.Cmd) {
	t.Helper()
	if cmd.Process != nil {
		t.Errorf("leakcheck: Mark of a command that has been started: %q", cmd.Args)
		return
	}
	name := testName(t)
	cmd.Env = cmd.Environ()
	for _, mark := range append([]string{token}, marks.open(name)...) {
		if !slices.Contains(proctable.Tokens(strings.Join(cmd.Env, "\x00")), mark) {
			cmd.Env = proctable.WithToken(cmd.Env, mark)
		}
	}
	t.Cleanup(func() { marks.close(name) })
}

// marks are the tokens of the tests that have called Mark, and of their parents.
var marks = markTable{tests: make(map[string]*mark)}

type markTable struct {
	sync.Mutex
	tests map[string]*mark // by name
}

type mark struct {
	token string
	open  int // calls of Mark by a test, or a subtest of it, that is still at work
}

// open returns the tokens of a test: those of its parents first.
func (m *markTable) open(test string) (tokens []string) {
	m.Lock()
	defer m.Unlock()
	for _, name := range lineage(test) {
		if m.tests[name] == nil {
			m.tests[name] = &mark{token: proctable.NewToken()}
		}
		m.tests[name].open++
		tokens = append(tokens, m.tests[name].token)
	}
	return tokens
}

func (m *markTable) close(test string) {
	m.Lock()
	defer m.Unlock()
	for _, name := range lineage(test) {
		m.tests[name].open--
	}
}

// has tells whether a test, or a subtest of it, has called Mark.
func (m *markTable) has(test string) bool {
	m.Lock()
	defer m.Unlock()
	return m.tests[test] != nil
}

// ofTest tells of the processes that this test has marked, or a subtest of it.
func (m *markTable) ofTest(test string) func(tokens []string) bool {
	return func(tokens []string) bool { return isWithin(m.owner(tokens), test) }
}

// ofOthers tells of the processes that another test has marked which is still at work.
// A parent is one, too.
func (m *markTable) ofOthers(test string) func(tokens []string) bool {
	return func(tokens []string) bool {
		owner := m.owner(tokens)
		m.Lock()
		defer m.Unlock()
		return owner != "" && !isWithin(owner, test) && m.tests[owner].open > 0
	}
}

func isWithin(test, parent string) bool { return slices.Contains(lineage(test), parent) }

// owner returns the name of the test, the innermost one, that has one of the tokens.
func (m *markTable) owner(tokens []string) (test string) {
	m.Lock()
	defer m.Unlock()
	for name, mark := range m.tests {
		if len(name) > len(test) && slices.Contains(tokens, mark.token) {
			test = name
		}
	}
	return test
}

// lineage returns the names of a test's parents and its own: "A/b/c" is a subtest
// of "A/b" and of "A".
func lineage(test string) (names []string) {
	for i := range len(test) {
		if test[i] == '/' {
			names = append(names, test[:i])
		}
	}
	return append(names, test)
}

// testName returns what tells a test from others.
func testName(t TestingT) string {
	if named, ok := t.(interface{ Name() string }); ok {
		return named.Name()
	}
	return strings.ReplaceAll(fmt.Sprintf("%T %p", t, t), "/", "")
}
