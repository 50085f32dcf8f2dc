package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// census is what this process holds.
type census struct{ goroutines, descriptors, memory float64 }

// takeCensus counts memory as heap and stacks: what the runtime keeps for later is
// nobody's.
func takeCensus() (census, error) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := descriptors()
	return census{float64(runtime.NumGoroutine()), float64(files), float64(m.HeapAlloc+m.StackInuse) / 1024}, err
}

func (c census) minus(d census, n int) [3]float64 {
	return [3]float64{(c.goroutines - d.goroutines) / float64(n), (c.descriptors - d.descriptors) / float64(n), (c.memory - d.memory) / float64(n)}
}

// idlePlan measures what one connected session holds when nothing happens, the SDK's
// part of it included. what says which of the three numbers of a census is meant.
func idlePlan(name, unit string, limit float64, what int) plan {
	p := plan{
		name: name, what: "one idle connected server in the host", unit: unit, rounds: 3, budget: 5 * time.Second,
		checks: []check{{says: "at most " + number(limit) + " " + unit, form: atMost, limit: limit}},
	}
	for _, column := range []string{ours, sdk, mcpgo} {
		p.contenders = append(p.contenders, contender{column: column, sample: func(ctx context.Context) (float64, error) {
			const n = 16
			if s, err := connectors[column](ctx, tinyServer(), rung); err == nil {
				s.close() // what the first use keeps for good
			}
			before, err := takeCensus()
			if err != nil {
				return 0, err
			}
			all, err := connectMany(ctx, column, n, n, rung, tinyServer)
			defer closeMany(all)
			if err != nil {
				return 0, err
			}
			return settledCensus(before, n)[what], nil
		}})
	}
	return p
}

// settledCensus waits for goroutines that are on their way out, but not for ever.
func settledCensus(before census, n int) (per [3]float64) {
	for range 20 {
		now, _ := takeCensus()
		next := now.minus(before, n)
		if next[0] == per[0] {
			return next
		}
		per = next
		time.Sleep(5 * time.Millisecond)
	}
	return per
}

// connectMany connects to so many servers, so many of them at once. Those that it
// has connected to it returns with an error as well.
func connectMany(ctx context.Context, column string, count, atOnce int, rung time.Duration, command func() *exec.Cmd) ([]*session, error) {
	var mu sync.Mutex
	var all []*session
	err := callers(atOnce, count, func() error {
		s, err := connectors[column](ctx, command(), rung)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
		return nil
	})
	return all, err
}

// closeMany closes all at once. What Close says of a server that had to be killed is
// no failure here.
func closeMany(all []*session) {
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() { s.close() })
	}
	wg.Wait()
}

// stubbornPlan compares many with one, in each column: a sample is that ratio.
func stubbornPlan() plan {
	p := plan{
		name: "close-24", what: "close of 24 stubborn servers at once, against one", unit: "x", rounds: 5, budget: 20 * time.Second,
		checks: []check{{says: "the time of one (1.5x for 24 kills)", form: atMost, limit: 1.5}},
	}
	for _, column := range []string{ours, sdk, mcpgo} {
		c := contender{column: column, sample: func(ctx context.Context) (float64, error) {
			one, err := closing(ctx, column, 1)
			if err != nil {
				return 0, err
			}
			many, err := closing(ctx, column, 24)
			return many / one, err
		}}
		if column == mcpgo {
			c.rounds = 1 // it takes 5 s each time
			if volume < 1 {
				c.sample = func(context.Context) (float64, error) { return 0, errors.New("takes 10 s: not in a smoke run") }
			}
		}
		p.contenders = append(p.contenders, c)
	}
	return p
}

func closing(ctx context.Context, column string, n int) (float64, error) {
	all, err := connectMany(ctx, column, n, 8, rung, func() *exec.Cmd { return servers.Command("stubborn") })
	begin := time.Now()
	closeMany(all)
	return since(begin), err
}

func findPlan() plan {
	return plan{
		name: "leakcheck-1000", what: "leakcheck.Find with 1,000 strangers", unit: "s", rounds: 15, budget: 5 * time.Second,
		checks:     []check{{says: "under 20 ms", form: atMost, limit: 0.020}},
		contenders: []contender{{column: ours, sample: find}},
		before:     func(ctx context.Context) (func(), error) { return strangers(ctx, scaled(1000)) },
	}
}

func find(context.Context) (float64, error) {
	begin := time.Now()
	err := leakcheck.Find(leakcheck.Within(0))
	return since(begin), err
}

// strangers starts processes as a machine is full of: another shell's children. They
// are neither ours nor look like it: that shell has lost its parent, and the
// environment is empty. It returns how to end them.
func strangers(_ context.Context, n int) (func(), error) {
	if reason := room(n, 1<<20, 0); reason != "" {
		return nil, errors.New(reason)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	script := `(i=0; while [ $i -lt ` + number(float64(n)) + ` ]; do sleep 600 & i=$((i+1)); done; echo r; wait) &`
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdout = w
	cmd.SysProcAttr = ownGroup()
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	pgid := cmd.Process.Pid // theirs for as long as one of them lives
	end := func() {
		defer r.Close()
		killGroup(pgid)
		r.SetReadDeadline(time.Now().Add(30 * time.Second))
		io.Copy(io.Discard, r) // end of file: they are gone
	}
	r.SetReadDeadline(time.Now().Add(50 * time.Second))
	_, notThere := io.ReadFull(r, make([]byte, 2))
	if err := errors.Join(cmd.Wait(), notThere); err != nil {
		end()
		return nil, err
	}
	return end, nil
}
