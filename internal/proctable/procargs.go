package proctable

import (
	"bytes"
	"encoding/binary"
)

// splitProcargs takes apart what macOS answers to sysctl kern.procargs2: the
// number of arguments, the path of the program, NULs up to a word boundary, the
// arguments, the environment, and some strings that the kernel adds for the
// dynamic loader. Those stay in environ: none of them has a name that anybody
// here looks for.
//
// An empty first argument cannot be told from the NULs before it. The first
// string of the environment is then counted as the last argument.
//
// ok is false for an answer without a program: one taken inside execve, where
// the new stack is there and nothing on it yet.
func splitProcargs(raw []byte) (argv []string, environ string, ok bool) {
	const word = 4
	if len(raw) < word {
		return nil, "", false
	}
	argc := int32(binary.NativeEndian.Uint32(raw))
	path, rest, _ := bytes.Cut(raw[word:], []byte{0})
	if argc < 0 || len(path) == 0 {
		return nil, "", false
	}
	rest = bytes.TrimLeft(rest, "\x00")
	for ; argc > 0 && len(rest) > 0; argc-- {
		var arg []byte
		arg, rest, _ = bytes.Cut(rest, []byte{0})
		argv = append(argv, string(arg))
	}
	return argv, string(rest), true
}

// environInProcargs returns the environment part of the answer. A
// program that the system protects shows its arguments alone: that is a No, or
// every one of the many such programs would hold up the search for a while.
func environInProcargs(raw []byte) (string, Carries) {
	_, environ, ok := splitProcargs(raw)
	switch {
	case !ok:
		return "", Unsure
	case environ == "":
		return "", No
	}
	return environ, shows(environ)
}
