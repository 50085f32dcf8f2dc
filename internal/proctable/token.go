package proctable

import (
	"crypto/rand"
	"os"
	"slices"
	"strings"
	"time"
)

// TokenVar is the environment variable by which a process is recognised as
// ours after it left its group, its session and its parent. Its value is a
// comma-separated list: a host that is itself a server keeps the tokens of
// the hosts above it and appends its own.
const TokenVar = "STDIOGUARD_TOKEN"

// NewToken returns a random token.
func NewToken() string { return rand.Text() }

// WithToken returns env with token appended to its token list. The list of
// this process's own environment is kept even where env does not have it: an
// outer host must find what an inner host started.
func WithToken(env []string, token string) []string {
	list := os.Getenv(TokenVar)
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, TokenVar+"="); ok {
			list = v
			continue
		}
		out = append(out, kv)
	}
	if list != "" {
		list += ","
	}
	return append(out, TokenVar+"="+list+token)
}

// Carries tells whether a process has a token in its environment.
type Carries int

// The answers of [Carrier]. Unsure is the answer for a process whose
// environment is empty: it may be inside execve, where the old environment is
// gone and the new one not yet in place, so a caller that must know asks again.
const (
	No Carries = iota
	Yes
	Unsure
)

// UnsureBound is how long an empty environment may be that of a process inside
// execve. After it, it belongs to a stranger who likes it empty.
const UnsureBound = 50 * time.Millisecond

// Carrier reports whether process p has token in its environment. The
// environment is the one given at execve. A process of another user, one that
// hides from others of its own (PR_SET_DUMPABLE), and one that has wiped its
// environment answer No. An error means that the question could not be asked.
func Carrier(p Process, token string) (Carries, error) {
	environ, carries, err := Environment(p)
	if carries == Yes && !carriesToken(environ, token) {
		carries = No
	}
	return carries, err
}

// Environment returns the environment of process p, NUL-separated, and Yes. For those
// who show none to [Carrier] it is empty, and No or Unsure comes with it.
func Environment(p Process) (environ string, shown Carries, err error) {
	if p.kernel || !p.Alive() {
		return "", No, nil
	}
	return environment(p)
}

// Getenv returns the value of a variable of a NUL-separated environment.
func Getenv(environ, name string) (value string, found bool) {
	for kv := range strings.SplitSeq(environ, "\x00") {
		if value, found = strings.CutPrefix(kv, name); found && strings.HasPrefix(value, "=") {
			return value[1:], true
		}
	}
	return "", false
}

// Tokens returns the tokens of a NUL-separated environment. A variable that is there
// twice counts twice.
func Tokens(environ string) (tokens []string) {
	for kv := range strings.SplitSeq(environ, "\x00") {
		if list, ok := strings.CutPrefix(kv, TokenVar+"="); ok {
			tokens = append(tokens, strings.Split(list, ",")...)
		}
	}
	return tokens
}

func carriesToken(environ, token string) bool { return slices.Contains(Tokens(environ), token) }

// shows tells an environment from the lack of one.
func shows(environ string) Carries {
	if strings.Trim(environ, "\x00") == "" {
		return Unsure
	}
	return Yes
}
