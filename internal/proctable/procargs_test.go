package proctable

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// procargs builds an answer of kern.procargs2.
func procargs(argc int32, strs ...string) []byte {
	raw := binary.NativeEndian.AppendUint32(nil, uint32(argc))
	return append(raw, strings.Join(strs, "\x00")...)
}

func TestSplitProcargs(t *testing.T) {
	for _, test := range []struct {
		name    string
		raw     []byte
		argv    []string
		environ string
	}{{
		"padding, arguments, environment, strings of the kernel",
		procargs(2, "/bin/cat", "", "", "", "cat", "-u", "A=1", "B=2", "", "ptr_munge=", "main_stack=", ""),
		[]string{"cat", "-u"}, "A=1\x00B=2\x00\x00ptr_munge=\x00main_stack=\x00",
	}, {
		"no padding",
		procargs(1, "/bin/cat", "cat", "A=1", ""),
		[]string{"cat"}, "A=1\x00",
	}, {
		"empty arguments behind the first count",
		procargs(3, "/bin/cat", "", "cat", "", "x", "A=1", ""),
		[]string{"cat", "", "x"}, "A=1\x00",
	}, {
		"hidden environment",
		procargs(2, "/bin/cat", "", "cat", "-u", ""),
		[]string{"cat", "-u"}, "",
	}, {
		"cut off in the arguments",
		procargs(3, "/bin/cat", "", "cat", "-"),
		[]string{"cat", "-"}, "",
	}, {
		"no arguments at all",
		procargs(0, "/bin/cat", "", "A=1", ""),
		nil, "A=1\x00",
	}} {
		t.Run(test.name, func(t *testing.T) {
			argv, environ, ok := splitProcargs(test.raw)
			require.True(t, ok)
			require.Equal(t, test.argv, argv)
			require.Equal(t, test.environ, environ)
		})
	}
}

func TestSplitProcargsInsideExec(t *testing.T) {
	for name, raw := range map[string][]byte{
		"nothing":         nil,
		"half a number":   {1, 0},
		"no program":      procargs(1),
		"blank stack":     procargs(1, blank),
		"negative number": procargs(-1, "/bin/cat", "cat", ""),
	} {
		t.Run(name, func(t *testing.T) {
			argv, environ, ok := splitProcargs(raw)
			require.False(t, ok)
			require.Empty(t, argv)
			require.Empty(t, environ)
		})
	}
}

// blank is a stack that nobody has written to.
var blank = strings.Repeat("\x00", 16)

func TestTokenInProcargs(t *testing.T) {
	kv := TokenVar + "=OUTER,MINE"
	for _, test := range []struct {
		name string
		raw  []byte
		want Carries
	}{
		{"in the environment", procargs(1, "/bin/cat", "", "cat", "A=1", kv, "", "stack_guard=", ""), Yes},
		{"another's", procargs(1, "/bin/cat", "", "cat", TokenVar+"=OUTER", ""), No},
		{"as an argument only", procargs(2, "/usr/bin/env", "", "env", kv, "A=1", ""), No},
		{"hidden", procargs(1, "/bin/cat", "", "cat", ""), No},
		{"inside execve", procargs(1, blank), Unsure},
	} {
		t.Run(test.name, func(t *testing.T) {
			environ, carries := environInProcargs(test.raw)
			if carries == Yes && !carriesToken(environ, "MINE") {
				carries = No
			}
			require.Equal(t, test.want, carries)
		})
	}
}

func FuzzSplitProcargs(f *testing.F) {
	f.Add(procargs(2, "/bin/cat", "", "cat", "-u", "A=1", ""))
	f.Add(procargs(1<<30, "/bin/cat", "cat"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		argv, environ, ok := splitProcargs(raw)
		if !ok {
			return
		}
		total := len(environ)
		for _, arg := range argv {
			total += len(arg)
		}
		require.LessOrEqual(t, total, len(raw))
	})
}
