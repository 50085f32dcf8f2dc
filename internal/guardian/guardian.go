// Package guardian is the process between a host and one server: its parent, and
// the owner of exactly one process tree.
//
// There is no binary to install: the host runs its own executable again, and this
// package's init, if it finds that it is meant, never returns. It starts the
// server, watches host and server, sweeps, reaps, and ends as the server ended
// (the pattern of containerd's shim and of tini). procgroup is its only caller.
//
// A second mode has no server: a janitor stands beside a test binary and kills what that
// leaves behind when it dies in the middle of a test. leakcheck is its only caller: see
// [JanitorVar].
//
// # Why it imports only syscall and unsafe
//
// Go initialises packages in the order of their import paths as soon as what they
// import is ready. A package that needs nothing but syscall comes before os, time
// and fmt, and so before practically every init of the host program: none of those
// runs in the guardian, allocates there, or prints onto the server's stdout.
//
// # The order of things
//
//	host: socketpair, spec into it, start self with Var  --------------.
//	                                                                   v
//	recognise (Var, parent, socket of that parent)            else go on as usual
//	become the reaper; watch the host; is the parent still the host?
//	start the server: own session, PDEATHSIG toward this locked thread (not macOS)
//	/dev/null on 0, 1, 2; signals ignored                     --> Started
//	wait for: leader's end | command | end of file or the host's death
//	sweep: TERM, wait, KILL, until this process has no child but the leader
//	reap the leader, last                                     --> Survivor*, Gone
//	end as the leader ended
//
// # What differs
//
//	                 Linux                 FreeBSD               macOS
//	parent known by  SO_PEERCRED           LOCAL_PEERCRED        LOCAL_PEERPID
//	not meant        goes on as usual      ends, if its parent is the process in Var
//	host watched by  pidfd                 kqueue, NOTE_EXIT
//	leader's end     waitid, WNOWAIT       wait6, WNOWAIT        kqueue, NOTE_EXIT
//	orphans          come here: subreaper  come here: procctl    go to pid 1
//	tree found by    children files        PROC_REAP_GETPIDS     table, memory, NOTE_FORK
//	ended at once    cgroup, group         PROC_REAP_KILL        groups
//	guardian killed  the leader dies       the leader dies       nothing: the host has to
//
// On FreeBSD and macOS it has been compiled, not run. There it asks the system, before
// it starts anything, for answers that it can check, and fails where one is not as
// expected; procgroup, which makes a trial first, then does without.
//
// A reaper may say "every child of mine dies" only because it has exactly one
// tree. A host may not: its other children would be adopted, and killed, as well.
package guardian

// Var is the environment variable by which a process learns that it is to be a
// guardian: "FD HOSTPID NONCE". The server does not get it.
const Var = "STDIOGUARD_GUARDIAN"

// Spec is what a host tells its guardian, through the socket.
type Spec struct {
	Nonce        string // the one in Var
	Path         string // of the server's program
	Argv         []string
	Files        int  // descriptors of the server: 0 to Files-1
	KeepTerminal bool // a group instead of a session
	Keep         bool // leave alone what a polite exit leaves behind
	SweepMillis  int  // between TERM and KILL of what the leader leaves behind

	// Cgroup is the directory of a control group (version 2) in which one for the
	// server is to be made; empty for none. MaxMemory and MaxPids are written to
	// its memory.max and pids.max if not empty.
	Cgroup             string
	RequireCgroup      bool // or fail, instead of going without
	MaxMemory, MaxPids string
}

// CgroupPrefix begins the name of a directory that a guardian makes. Its own pid
// and the nonce follow, each behind a hyphen but for the first.
const CgroupPrefix = "stdioguard-"

// A Report is what a guardian tells its host.
type Report struct {
	Kind  Kind
	PID   int // of the server (Started) or of a survivor
	Errno int // of execve (Failed) or of the control group (NoCgroup), or why the survivor could not be killed
}

// Kind is the kind of a Report.
type Kind uint32

// The kinds, in the order in which they come: NoCgroup where one was wished for;
// Failed, and nothing after it, or Started; Ended where the leader has ended by
// itself; any number of Survivor, and Gone if there was none.
const (
	NoCgroup Kind = iota + 1
	Failed
	Started
	Ended
	Survivor
	Gone
)

// Commands are single bytes on the socket: the number of a signal for the group, of
// which KILL ends the whole tree, or Terminate.

// Terminate is the command to send SIGTERM to the whole tree and let it end, in a
// time that the host measures: it will send KILL.
const Terminate = 0xff

// ReportSize is the length of a Report on the wire.
const ReportSize = 12

// Decode reads a Report from its wire form.
func Decode(b [ReportSize]byte) Report {
	return Report{Kind(get32(b[0:])), int(get32(b[4:])), int(get32(b[8:]))}
}

func (r Report) encode() []byte {
	b := put32(nil, uint32(r.Kind))
	b = put32(b, uint32(r.PID))
	return put32(b, uint32(r.Errno))
}

const (
	flagKeepTerminal = 1 << iota
	flagKeep
	flagRequireCgroup
)

// Encode returns the wire form of a spec: its length, then its fields.
func (s Spec) Encode() []byte {
	var flags uint32
	if s.KeepTerminal {
		flags |= flagKeepTerminal
	}
	if s.Keep {
		flags |= flagKeep
	}
	if s.RequireCgroup {
		flags |= flagRequireCgroup
	}
	body := putString(nil, s.Nonce)
	body = put32(body, flags)
	body = put32(body, uint32(s.Files))
	body = put32(body, uint32(s.SweepMillis))
	for _, text := range []string{s.Cgroup, s.MaxMemory, s.MaxPids, s.Path} {
		body = putString(body, text)
	}
	for _, arg := range s.Argv {
		body = putString(body, arg)
	}
	return append(put32(nil, uint32(len(body))), body...)
}

// decodeSpec reads the body of a spec.
func decodeSpec(body []byte) (s Spec, ok bool) {
	var flags, files, sweep uint32
	ok = takeString(&body, &s.Nonce) && take32(&body, &flags) && take32(&body, &files) &&
		take32(&body, &sweep) && takeString(&body, &s.Cgroup) && takeString(&body, &s.MaxMemory) &&
		takeString(&body, &s.MaxPids) && takeString(&body, &s.Path)
	for ok && len(body) > 0 {
		var arg string
		ok = takeString(&body, &arg)
		s.Argv = append(s.Argv, arg)
	}
	s.KeepTerminal, s.Keep = flags&flagKeepTerminal != 0, flags&flagKeep != 0
	s.RequireCgroup = flags&flagRequireCgroup != 0
	s.Files, s.SweepMillis = int(files), int(sweep)
	return s, ok && s.Files >= 3
}

func put32(b []byte, n uint32) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

func putString(b []byte, s string) []byte { return append(put32(b, uint32(len(s))), s...) }

func get32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func take32(b *[]byte, n *uint32) bool {
	if len(*b) < 4 {
		return false
	}
	*n, *b = get32(*b), (*b)[4:]
	return true
}

func takeString(b *[]byte, s *string) bool {
	var n uint32
	if !take32(b, &n) || uint64(n) > uint64(len(*b)) {
		return false
	}
	*s, *b = string((*b)[:n]), (*b)[n:]
	return true
}

// parseVar reads the value of Var.
func parseVar(v string) (fd, host int, nonce string, ok bool) {
	fd, v, ok1 := number(v)
	host, v, ok2 := number(v)
	return fd, host, v, ok1 && ok2 && fd > 2 && host > 0 && v != ""
}

// number cuts a decimal number and the space behind it.
func number(s string) (n int, rest string, ok bool) {
	for i := 0; i < len(s) && n < 1<<28; i++ {
		switch c := s[i]; {
		case c == ' ' && i > 0:
			return n, s[i+1:], true
		case c < '0' || c > '9':
			return 0, s, false
		default:
			n = n*10 + int(c-'0')
		}
	}
	return 0, s, false
}

// decimal is what strconv.Itoa would be.
func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}
