package guardian

// The second mode: no server, and nobody's parent. A janitor stands beside a process
// that runs tests, waits for its death, and kills what that has left. Package
// leakcheck is its only caller. It is for deaths that leave no time for a check: a panic,
// -timeout, os.Exit in a test. It finds what is left by the token in the
// environment, kills nobody who has none, and says on stderr whom it has killed.

// JanitorVar is the environment variable by which a process learns that it is to be
// a janitor: "FD HOSTPID TOKEN". The other end of FD is the host's.
const JanitorVar = "STDIOGUARD_JANITOR"

// ToolchainVar is in the environment of a process that the go command starts beside
// itself to look after its statistics, and that outlives it: golang.org/x/telemetry. It
// is nobody's leak.
const ToolchainVar = "GO_TELEMETRY_CHILD"

// A message to a janitor is a pid and a start time, of 8 bytes each: that
// process is to live on. Without a pid it means that there is nothing to be done.
const messageSize = 16

// Spare is the message to leave one process alone.
func Spare(pid int, start uint64) []byte { return put64(put64(nil, uint64(pid)), start) }

// Dismiss is the message to end at once and kill nobody.
func Dismiss() []byte { return Spare(0, 0) }

func put64(b []byte, n uint64) []byte { return put32(put32(b, uint32(n)), uint32(n>>32)) }

func get64(b []byte) uint64 { return uint64(get32(b)) | uint64(get32(b[4:]))<<32 }

// inEnviron returns the value of a variable of a NUL-separated environment.
func inEnviron(environ, name string) (value string, found bool) {
	for len(environ) > 0 {
		end := 0
		for end < len(environ) && environ[end] != 0 {
			end++
		}
		kv := environ[:end]
		if len(kv) > len(name) && kv[:len(name)] == name && kv[len(name)] == '=' {
			return kv[len(name)+1:], true
		}
		environ = environ[min(end+1, len(environ)):]
	}
	return "", false
}

// inList tells whether a comma-separated list has an item.
func inList(list, item string) bool {
	for start, i := 0, 0; i <= len(list); i++ {
		if i == len(list) || list[i] == ',' {
			if list[start:i] == item {
				return true
			}
			start = i + 1
		}
	}
	return false
}

// quoted appends a text between quotes, on one line, and without anything that a
// terminal would act on.
func quoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// row of the report: pid, and as much of the arguments as fits.
func describe(pid int, args string) string {
	const most = 200
	b := append([]byte("pid "), decimal(pid)...)
	b = append(b, ' ')
	for len(args) > 0 {
		end := 0
		for end < len(args) && args[end] != 0 {
			end++
		}
		if end > most {
			return string(append(append(b, ' '), "..."...))
		}
		b = quoted(append(b, ' '), args[:end])
		if args = args[min(end+1, len(args)):]; len(b) > most && len(args) > 0 {
			return string(append(append(b, ' '), "..."...))
		}
	}
	return string(b)
}
