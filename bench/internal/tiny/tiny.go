// Package tiny is the server that the benchmarks talk to: as little of a server as
// there can be, so that what is measured is the client. It runs in the init of this
// package, which imports syscall only, before the many packages of the benchmark
// have begun theirs: in a process that was started for it, main is never reached.
//
// Its answers are built once for each size, with a gap for the id.
package tiny

import (
	"syscall"

	// Its init comes before ours: a guardian has the environment of its server, and
	// is none.
	_ "github.com/stdioguard/stdioguard/internal/guardian"
)

// Var is the variable that makes a process the server.
const Var = "STDIOGUARD_BENCH_SERVER"

func init() {
	if _, ok := syscall.Getenv(Var); !ok {
		return
	}
	s := server{replies: map[int][]byte{}}
	s.run()
	syscall.Exit(0)
}

type server struct {
	in, out []byte
	replies map[int][]byte
}

// run answers until end of file. What is in hand when the input is used up goes out
// in one write.
func (s *server) run() {
	chunk := make([]byte, 64<<10)
	for {
		n, err := syscall.Read(syscall.Stdin, chunk)
		if err == syscall.EINTR || err == syscall.EAGAIN {
			continue
		}
		if n <= 0 || err != nil {
			return
		}
		s.in = append(s.in, chunk[:n]...)
		rest := s.in
		for {
			end := index(rest, '\n')
			if end < 0 {
				break
			}
			s.answer(rest[:end])
			rest = rest[end+1:]
		}
		s.in = append(s.in[:0], rest...)
		s.flush()
	}
}

func (s *server) answer(line []byte) {
	m := parse(line)
	if len(m.id) == 0 || len(m.method) == 0 {
		return // a notification, or an answer
	}
	switch string(m.method) {
	case "initialize":
		s.result(m.id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}`)
	case "tools/list":
		s.result(m.id, `{"tools":[{"name":"ping","inputSchema":{"type":"object"}}]}`)
	case "ping":
		s.result(m.id, `{}`)
	case "tools/call":
		if size := number(m.name); size > 0 {
			s.sized(m.id, size)
			return
		}
		s.result(m.id, `{"content":[{"type":"text","text":"pong"}]}`)
	default:
		s.put(`{"jsonrpc":"2.0","id":`, string(m.id), `,"error":{"code":-32601,"message":"method not found"}}`, "\n")
	}
}

func (s *server) result(id []byte, body string) {
	s.put(`{"jsonrpc":"2.0","id":`, string(id), `,"result":`, body, "}\n")
}

func (s *server) put(parts ...string) {
	for _, p := range parts {
		s.out = append(s.out, p...)
	}
}

const (
	head = `{"jsonrpc":"2.0","id":`
	gap  = `                    `
	mid  = `,"result":{"content":[{"type":"text","text":"`
	tail = `"}]}}` + "\n"
	// text is what tools really return: lines with newlines and quotes to be undone.
	text = `2026-11-30 12:00:00 INFO request \"GET /api/items\" took 12 ms\n`
)

// Smallest is the length of the smallest reply that has the gap.
const Smallest = len(head) + len(gap) + len(mid) + len(tail)

// sized answers with a line of so many bytes, its newline included.
func (s *server) sized(id []byte, size int) {
	reply := s.replies[size]
	if reply == nil {
		reply = build(size)
		s.replies[size] = reply
	}
	field := reply[len(head) : len(head)+len(gap)]
	for i := range field {
		field[i] = ' '
	}
	copy(field, id)
	if len(reply) <= 4<<10 {
		s.out = append(s.out, reply...)
		return
	}
	s.flush()
	write(reply)
}

func build(size int) []byte {
	reply := append([]byte(nil), head+gap+mid...)
	for len(reply)+len(text)+len(tail) <= size {
		reply = append(reply, text...)
	}
	for len(reply)+len(tail) < size {
		reply = append(reply, 'x')
	}
	return append(reply, tail...)
}

func (s *server) flush() {
	write(s.out)
	s.out = s.out[:0]
}

func write(p []byte) {
	for len(p) > 0 {
		n, err := syscall.Write(syscall.Stdout, p)
		if err == syscall.EINTR || err == syscall.EAGAIN {
			continue
		}
		if err != nil {
			syscall.Exit(1)
		}
		p = p[n:]
	}
}
