package leakcheck

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// fake is a test of that name.
type fake struct {
	name     string
	failed   int
	cleanups []func()
}

func (f *fake) Name() string          { return f.name }
func (f *fake) Helper()               {}
func (f *fake) Errorf(string, ...any) { f.failed++ }
func (f *fake) Cleanup(c func())      { f.cleanups = append(f.cleanups, c) }
func (f *fake) end() {
	for _, c := range f.cleanups {
		c()
	}
}

func tokensOf(t *testing.T, test TestingT, env ...string) []string {
	t.Helper()
	cmd := exec.Command("true")
	cmd.Env = env
	Mark(test, cmd)
	for _, kv := range env {
		if !strings.HasPrefix(kv, proctable.TokenVar) {
			require.Contains(t, cmd.Env, kv)
		}
	}
	last := cmd.Env[len(cmd.Env)-1]
	return proctable.Tokens(last)
}

func TestMarksOfTestsAndSubtests(t *testing.T) {
	parent, sub, other := &fake{name: "TestP"}, &fake{name: "TestP/sub"}, &fake{name: "TestPother"}
	ofParent, ofSub, ofOther := tokensOf(t, parent), tokensOf(t, sub), tokensOf(t, other, "A=1")
	own := proctable.Tokens(proctable.TokenVar + "=" + os.Getenv(proctable.TokenVar))
	for _, tokens := range [][]string{ofParent, ofSub, ofOther} {
		require.Equal(t, own, tokens[:len(own)], "the token of this process stays, with and without an environment")
	}
	for name, c := range map[string]struct{ parents, subs, others [2]bool }{ // ofTest, ofOthers
		"TestP":      {[2]bool{true, false}, [2]bool{true, false}, [2]bool{false, true}},
		"TestP/sub":  {[2]bool{false, true}, [2]bool{true, false}, [2]bool{false, true}},
		"TestPother": {[2]bool{false, true}, [2]bool{false, true}, [2]bool{true, false}},
		"TestNone":   {[2]bool{false, true}, [2]bool{false, true}, [2]bool{false, true}},
	} {
		is := func(tokens []string) [2]bool {
			return [2]bool{marks.ofTest(name)(tokens), marks.ofOthers(name)(tokens)}
		}
		require.Equal(t, c.parents, is(ofParent), name)
		require.Equal(t, c.subs, is(ofSub), name)
		require.Equal(t, c.others, is(ofOther), name)
		require.Equal(t, [2]bool{false, false}, is(own), name)
		require.Equal(t, name != "TestNone", marks.has(name))
	}
	require.Equal(t, "TestP/sub", marks.owner(ofSub))
	require.Equal(t, "other,"+token, strings.Join(tokensOf(t, &fake{name: "TestQ"}, proctable.TokenVar+"=other")[:2], ","))

	// What a test has left that is over is charged to whoever looks next.
	sub.end()
	require.False(t, marks.ofOthers("TestP/next")(ofSub))
	require.True(t, marks.ofOthers("TestP/next")(ofParent))
	parent.end()
	other.end()
	require.False(t, marks.ofOthers("TestNone")(ofParent))
}

func TestMarkOfACommandThatRuns(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	test := &fake{name: "TestLate"}
	Mark(test, cmd)
	require.Equal(t, 1, test.failed)
	require.False(t, marks.has("TestLate"))
}

func TestTestsWithoutANameAreToldApart(t *testing.T) {
	type nameless struct{ TestingT }
	a, b := &nameless{t}, &nameless{t}
	require.NotEqual(t, testName(a), testName(b))
	require.Equal(t, testName(a), testName(a))
	require.Equal(t, t.Name(), testName(t))
	require.Equal(t, []string{"A", "A/b", "A/b/c"}, lineage("A/b/c"))
}

func TestIsParallel(t *testing.T) {
	before := os.Getenv(proctable.TokenVar)
	t.Cleanup(func() { require.Equal(t, before, os.Getenv(proctable.TokenVar)) })
	t.Run("alone", func(t *testing.T) {
		t.Cleanup(func() { require.False(t, isParallel(t)) })
	})
	t.Run("group", func(t *testing.T) {
		t.Run("parallel", func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() { require.True(t, isParallel(t)) })
			t.Run("sub", func(t *testing.T) {
				t.Cleanup(func() { require.True(t, isParallel(t), "its parent is") })
			})
		})
		t.Cleanup(func() { require.False(t, isParallel(t), "its subtests are, and are over") })
	})
	require.False(t, isParallel(&fake{}), "it cannot be asked")
}
