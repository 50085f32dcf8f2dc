package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/testdata/servers"
)

const (
	upBound    = 15 * time.Second       // for a host and its servers to be there
	faultBound = 10 * time.Second       // for the host to return: mcp-go takes 8 s by its own rules
	deathBound = 4 * time.Second        // for a tree to follow its host
	lookBound  = 500 * time.Millisecond // for what is dying to be dead
)

// runFaults runs all cells, some at once: they mostly wait.
func runFaults(ctx context.Context, wanted []fault) []Fault {
	results := make([]Fault, len(wanted))
	turns := make(chan struct{}, 8)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, f := range wanted {
		results[i] = Fault{Name: f.name, What: f.what, Cells: map[string]Aftermath{}}
		for _, column := range f.columns() {
			turns <- struct{}{}
			all.Go(func() {
				defer func() { <-turns }()
				after := f.run(ctx, column)
				mu.Lock()
				defer mu.Unlock()
				results[i].Cells[column] = after
			})
		}
	}
	all.Wait()
	return results
}

// run runs one cell: a host, its server, and the witness who sees what is left.
func (f fault) run(ctx context.Context, column string) (after Aftermath) {
	if ctx.Err() != nil {
		return Aftermath{Reason: "out of time"}
	}
	if f.starved && raceDetector {
		return Aftermath{Reason: "the race detector does not live within the host's limit of memory"}
	}
	t := &stand{}
	defer t.cleanUp()
	w := servers.NewWitness(t)
	if t.failed != "" {
		return Aftermath{Reason: t.failed}
	}
	h, err := startHost(w, f.name+"/"+column)
	if err != nil {
		return Aftermath{Reason: clip(err.Error())}
	}
	defer h.end()
	if after, ok := f.await(h, w); !ok {
		return after
	}
	if f.name == "host killed" {
		return buried(h, w)
	}
	return f.outcome(h, w)
}

// await waits for the host to be ready and for all its servers to be there.
func (f fault) await(h *hostProcess, w *servers.Witness) (Aftermath, bool) {
	deadline := time.After(upBound)
	select {
	case line := <-h.lines:
		if line != "ready" {
			return Aftermath{Returned: -1, Error: clip(h.epitaph(line)), Left: names(w)}, false
		}
	case <-deadline:
		return Aftermath{Returned: -1, Error: "did not come up", Left: names(w)}, false
	}
	for len(w.Alive()) < f.present {
		select {
		case <-deadline:
			return Aftermath{Returned: -1, Error: "its servers did not come up", Left: names(w)}, false
		case <-time.After(time.Millisecond):
		}
	}
	io.WriteString(h.stdin, "go\n")
	return Aftermath{}, true
}

// outcome is what the host says, and who is left then.
func (f fault) outcome(h *hostProcess, w *servers.Witness) Aftermath {
	var s said
	select {
	case line := <-h.lines:
		if json.Unmarshal([]byte(line), &s) != nil {
			w.Emptied(lookBound)
			return Aftermath{Returned: -1, Error: clip("the host died: " + h.epitaph(line)), Left: names(w)}
		}
	case <-time.After(faultBound):
		return Aftermath{Returned: -1, Error: fmt.Sprintf("did not return within %v", faultBound), Left: names(w)}
	}
	w.Emptied(lookBound)
	return Aftermath{Returned: s.Seconds, Error: clip(s.Error), Left: names(w)}
}

// buried kills the host and waits for its tree.
func buried(h *hostProcess, w *servers.Witness) Aftermath {
	begin := time.Now()
	h.cmd.Process.Kill()
	if !w.Emptied(deathBound) {
		return Aftermath{Returned: -1, Error: fmt.Sprintf("alive %v after the host", deathBound), Left: names(w)}
	}
	return Aftermath{Returned: since(begin)}
}

// names are those of the living. What follows kills them: see [stand].
func names(w *servers.Witness) (left []string) {
	for _, s := range w.Alive() {
		left = append(left, s.Name)
	}
	slices.Sort(left)
	return left
}

// hostProcess is a host as the runner has it.
type hostProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // closed at its end
	stderr bytes.Buffer
}

func startHost(w *servers.Witness, spec string) (*hostProcess, error) {
	h := &hostProcess{cmd: exec.Command(executable()), lines: make(chan string, 8)}
	h.cmd.Env = append(os.Environ(), hostVar+"="+spec)
	w.Watch(h.cmd) // the servers inherit the address
	h.cmd.Stderr = &h.stderr
	h.cmd.WaitDelay = time.Second // its stderr may have been inherited
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	h.stdin, h.cmd.Stdout = in, out
	err = h.cmd.Start()
	out.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	go func() {
		defer close(h.lines)
		defer r.Close()
		in := bufio.NewScanner(r)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			h.lines <- in.Text()
		}
	}()
	return h, nil
}

// epitaph is what a host said when it should have said something else: its error, or
// the first line of its stderr.
func (h *hostProcess) epitaph(line string) string {
	var s said
	if json.Unmarshal([]byte(line), &s) == nil {
		return s.Error
	}
	h.cmd.Process.Kill()
	err := h.cmd.Wait() // and the buffer is whole
	first, _, _ := bytes.Cut(bytes.TrimSpace(h.stderr.Bytes()), []byte("\n"))
	return fmt.Sprintf("%v: %s", err, first)
}

// end kills the host by its own handle.
func (h *hostProcess) end() {
	h.stdin.Close()
	h.cmd.Process.Kill()
	if err := h.cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
		return
	}
}

// stand stands in for a test, of which a witness wants the clean-up: it kills, by
// pid, whom it still sees.
type stand struct {
	testing.TB
	failed string
	after  []func()
}

func (s *stand) Helper() {}

func (s *stand) Fatal(args ...any) { s.failed = fmt.Sprint(args...) }

func (s *stand) Cleanup(f func()) { s.after = append(s.after, f) }

func (s *stand) cleanUp() {
	for _, f := range slices.Backward(s.after) {
		f()
	}
}
