package servers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Witness knows which servers of a test live. Each connects to it over
// loopback when it is ready, and the kernel closes the connection when it dies,
// however it dies. Nothing that a server does to its descriptors, group,
// session or parent can hide it.
type Witness struct {
	listener net.Listener

	mu   sync.Mutex
	seen []*Seen
	news chan struct{} // closed and replaced at every change
}

// Seen is one server that has reported.
type Seen struct {
	Name string
	PID  int
	dead bool
}

func (s Seen) String() string { return fmt.Sprintf("%s (pid %d)", s.Name, s.PID) }

// NewWitness listens until the test ends, and then kills whom it still sees.
func NewWitness(t testing.TB) *Witness {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Witness{listener: l, news: make(chan struct{})}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { w.attend(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		for _, s := range w.Alive() {
			// Its connection is open, so the number is its own.
			if p, err := os.FindProcess(s.PID); err == nil {
				p.Kill()
			}
		}
		connections.Wait()
	})
	return w
}

// Watch makes the servers of cmd report to w.
func (w *Witness) Watch(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Environ(), witnessVar+"="+w.listener.Addr().String())
	return cmd
}

// Await blocks until every named server has reported, and returns them in the
// order of the names. A name that is given twice stands for two servers. After
// 30 s it fails the test.
func (w *Witness) Await(t testing.TB, names ...string) []Seen {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		found, news := w.find(names)
		if len(found) == len(names) {
			return found
		}
		select {
		case <-news:
		case <-timeout:
			t.Fatalf("servers: waited for %v, saw %v", names, found)
		}
	}
}

func (w *Witness) find(names []string) ([]Seen, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []Seen
	taken := make(map[*Seen]bool)
	for _, name := range names {
		i := slices.IndexFunc(w.seen, func(s *Seen) bool { return s.Name == name && !taken[s] })
		if i < 0 {
			return found, w.news
		}
		taken[w.seen[i]] = true
		found = append(found, *w.seen[i])
	}
	return found, w.news
}

// All returns the servers that have reported, in that order.
func (w *Witness) All() []Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Seen
	for _, s := range w.seen {
		all = append(all, *s)
	}
	return all
}

// Alive returns the servers that have reported and are not dead.
func (w *Witness) Alive() []Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	var alive []Seen
	for _, s := range w.seen {
		if !s.dead {
			alive = append(alive, *s)
		}
	}
	return alive
}

// Gone fails the test if any server that has reported lives.
func (w *Witness) Gone(t testing.TB) {
	t.Helper()
	w.Left(t)
}

// Left fails the test unless the living are those named, in any order. Between
// the end of a process and the news of it lie the kernel's close and a goroutine's
// turn: for that Left waits, a second at most.
func (w *Witness) Left(t testing.TB, names ...string) {
	t.Helper()
	slices.Sort(names)
	match := func(alive []Seen) bool {
		var living []string
		for _, s := range alive {
			living = append(living, s.Name)
		}
		slices.Sort(living)
		return slices.Equal(living, names)
	}
	if alive := w.wait(time.Second, match); !match(alive) {
		t.Errorf("servers: alive are %v, want %v", alive, names)
	}
}

// Emptied waits until all that have reported are dead, for as long as d, and
// reports whether they are.
func (w *Witness) Emptied(d time.Duration) bool {
	return len(w.wait(d, func(alive []Seen) bool { return len(alive) == 0 })) == 0
}

// Settle waits until all that have reported are dead, for 30 s at most. It is for those that the
// test itself has ended; what the code under test should have ended is for Gone.
func (w *Witness) Settle(t testing.TB) {
	t.Helper()
	if !w.Emptied(30 * time.Second) {
		t.Fatalf("servers: still alive: %v", w.Alive())
	}
}

// wait returns the living as soon as ok agrees, or when the time is over.
func (w *Witness) wait(d time.Duration, ok func([]Seen) bool) []Seen {
	timeout := time.After(d)
	for {
		w.mu.Lock()
		news := w.news
		w.mu.Unlock()
		alive := w.Alive()
		if ok(alive) {
			return alive
		}
		select {
		case <-news:
		case <-timeout:
			return alive
		}
	}
}

func (w *Witness) attend(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		return
	}
	name, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
	s := &Seen{Name: name}
	s.PID, _ = strconv.Atoi(pid)
	w.change(func() { w.seen = append(w.seen, s) })
	conn.Write([]byte{'\n'})
	io.Copy(io.Discard, in) // until it dies
	w.change(func() { s.dead = true })
}

func (w *Witness) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.news)
	w.news = make(chan struct{})
}

var self string // the name of the server that this process is

// ready tells the witness, if there is one, and waits until it has noted that: nobody can
// live and die unseen. A server calls it when its signals are set and its children
// started, so that a test that has awaited it knows.
var ready = sync.OnceFunc(func() {
	addr := os.Getenv(witnessVar)
	if addr == "" {
		return
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers: witness:", err)
		os.Exit(98)
	}
	fmt.Fprintf(conn, "%s %d\n", self, os.Getpid())
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	conn.Read(make([]byte, 1)) // a test that is over notes nothing
	conn.SetReadDeadline(time.Time{})
	go io.Copy(io.Discard, conn) // holds it open until death
})
