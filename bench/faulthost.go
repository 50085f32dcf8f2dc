package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// hostVar makes a process of this program the host in a fault: its value is the name
// of the fault and the column. A host is a process of its own because it may be
// killed, may never return, and may run out of memory.
const hostVar = "STDIOGUARD_BENCH_HOST"

// faultRung is how long a step of Close may take where a column lets one say so.
const faultRung = 300 * time.Millisecond

// host is the host's side of a cell. It says "ready", waits for "go", and then
// tells what came of it.
type host struct {
	column string
	in     *bufio.Reader
	begin  time.Time
}

// said is the last line of a host.
type said struct {
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error"`
}

func runHost(spec string) {
	os.Unsetenv(hostVar) // its servers are no hosts
	name, column, _ := strings.Cut(spec, "/")
	h := &host{column: column, in: bufio.NewReader(os.Stdin)}
	for _, f := range faults {
		if f.name != name {
			continue
		}
		if f.starved {
			limitMemory(2 << 30)
		}
		err := f.play(h, f.server())
		result := said{Seconds: since(h.begin)}
		if err != nil {
			result.Error = err.Error()
		}
		json.NewEncoder(os.Stdout).Encode(result)
	}
	// Whoever looks for survivors wants the host alive: its death is another fault.
	h.in.ReadString('\n')
	os.Exit(0)
}

// ready begins what is measured, once the runner agrees.
func (h *host) ready() {
	fmt.Println("ready")
	if _, err := h.in.ReadString('\n'); err != nil {
		os.Exit(1) // the runner is gone
	}
	h.begin = time.Now()
}

func (h *host) connect(ctx context.Context, cmd *exec.Cmd) (*session, error) {
	s, err := connectors[h.column](ctx, cmd, faultRung)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return s, nil
}

// open connects, or only starts where the column knows no sessions, and returns how
// to end that in the column's way.
func (h *host) open(cmd *exec.Cmd) (end func() error, err error) {
	ctx := context.Background()
	if connectors[h.column] != nil && h.column != plain {
		s, err := h.connect(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return s.close, nil
	}
	r, w, err := os.Pipe() // a stdin that stays open
	if err != nil {
		return nil, err
	}
	cmd.Stdin = r
	start := starters[h.column]
	if h.column == plain {
		start = startNaively
	}
	proc, err := start(ctx, cmd)
	r.Close()
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := proc.kill()
		proc.wait()
		w.Close()
		return err
	}, nil
}

// startNaively is os/exec as most use it: what is killed is the child.
func startNaively(_ context.Context, cmd *exec.Cmd) (*running, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &running{kill: func() (bool, error) { return false, cmd.Process.Kill() }, wait: func() { cmd.Wait() }}, nil
}

func playEnd(h *host, cmd *exec.Cmd) error {
	end, err := h.open(cmd)
	if err != nil {
		return err
	}
	h.ready()
	return end()
}

func playHostDeath(h *host, cmd *exec.Cmd) error {
	if _, err := h.open(cmd); err != nil {
		return err
	}
	h.ready() // and dies
	return errors.New("the host was not killed")
}

func playConnect(h *host, cmd *exec.Cmd) error {
	h.ready()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := h.connect(ctx, cmd)
	return err
}

func playLife(h *host, cmd *exec.Cmd) error {
	h.ready()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := h.connect(ctx, cmd)
	if err != nil {
		return err
	}
	return ended(s.call(ctx, "ping", ""), s.close())
}

// playCall makes one call in a session that is fine until then.
func playCall(tool, argument string) play {
	bound := 3 * time.Second
	if argument != "" {
		argument, bound = strings.Repeat("x", 1<<20), time.Second
	}
	return func(h *host, cmd *exec.Cmd) error {
		s, err := h.connect(context.Background(), cmd)
		if err != nil {
			return err
		}
		h.ready()
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		return ended(s.call(ctx, tool, argument), s.close())
	}
}

// playHungCall closes when the server has said that the call arrived.
func playHungCall(h *host, cmd *exec.Cmd) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stderr = w
	s, err := h.connect(context.Background(), cmd)
	if err != nil {
		return err
	}
	call := make(chan error, 1)
	go func() { call <- s.call(context.Background(), "ping", "") }()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		return err
	}
	h.ready()
	closed := s.close()
	select {
	case err := <-call:
		return ended(err, closed)
	case <-time.After(time.Second):
		return ended(errors.New("still waits, one second after Close"), closed)
	}
}

func ended(call, closed error) error {
	var parts []string
	if call != nil {
		parts = append(parts, "call: "+call.Error())
	}
	if closed != nil {
		parts = append(parts, "close: "+closed.Error())
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}
