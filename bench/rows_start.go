package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/stdioguard/stdioguard/procgroup"
)

func startPlan() plan {
	p := plan{
		name: "start", what: "start to the first byte of the server", unit: "s", rounds: 41, budget: 10 * time.Second,
		checks: []check{{says: "at most 3 ms more than os/exec", form: moreAtMost, peer: plain, limit: 0.003}},
	}
	for _, column := range []string{ours, gocmd, leakless, plain} {
		p.contenders = append(p.contenders, contender{column: column, sample: firstByte(starters[column])})
	}
	return p
}

func startDirectPlan() plan {
	return plan{
		name: "start-direct", what: "the same with NoGuardian", unit: "s", rounds: 41, budget: 10 * time.Second,
		checks: []check{{says: "within 1.15x of os/exec", form: ratioAtMost, peer: plain, limit: 1.15}},
		contenders: []contender{
			{column: ours, sample: firstByte(guarded(procgroup.Config{NoGuardian: true}))},
			{column: plain, sample: firstByte(starters[plain])},
		},
	}
}

// firstByte starts the smallest program there is that says something.
func firstByte(start starter) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return 0, err
		}
		defer r.Close()
		cmd := exec.Command("echo", "ready")
		cmd.Stdout = w
		begin := time.Now()
		proc, err := start(ctx, cmd)
		w.Close()
		if err != nil {
			return 0, err
		}
		defer proc.wait()
		r.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = r.Read(make([]byte, 16))
		return since(begin), err
	}
}

// keeperPlan measures the process that a column puts in front of the server.
func keeperPlan(p plan, measure func(pid int) (float64, error)) plan {
	for _, column := range []string{ours, leakless} {
		p.contenders = append(p.contenders, contender{column: column, sample: func(ctx context.Context) (float64, error) {
			tree, err := startTree(ctx, starters[column], 0)
			if err != nil {
				return 0, err
			}
			defer tree.end()
			if tree.keeper == 0 {
				return 0, errors.New("no process between host and server here")
			}
			return measure(tree.keeper)
		}})
	}
	return p
}

func guardianMemoryPlan() plan {
	return keeperPlan(plan{
		name: "guardian-memory", what: "private memory of one guardian", unit: "KiB", rounds: 9, budget: 5 * time.Second,
		checks: []check{{says: "at most 1 MiB", form: atMost, limit: 1024}},
	}, func(pid int) (float64, error) {
		bytes, err := privateMemory(pid)
		return float64(bytes) / 1024, err
	})
}

func guardianIdlePlan() plan {
	return keeperPlan(plan{
		name: "guardian-idle", what: "wake-ups of one idle guardian in a second", unit: "times", rounds: 3, budget: 5 * time.Second,
		checks: []check{{says: "none, and no CPU", form: atMost, limit: 0}},
	}, func(pid int) (float64, error) {
		used, woken, err := settled(pid)
		if err != nil {
			return 0, err
		}
		time.Sleep(time.Second)
		usedThen, wokenThen, err := cpuTime(pid)
		if usedThen > used {
			return 0, fmt.Errorf("used %v of CPU in a second", usedThen-used)
		}
		return float64(wokenThen - woken), err
	})
}

// settled waits until a process has done what it does at its start.
func settled(pid int) (used time.Duration, woken int, err error) {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		before, _, err := cpuTime(pid)
		_, woken, err2 := cpuTime(pid)
		time.Sleep(100 * time.Millisecond)
		after, again, err3 := cpuTime(pid)
		if err := errors.Join(err, err2, err3); err != nil {
			return 0, 0, err
		}
		if woken == again && before == after {
			return after, again, nil
		}
	}
	return cpuTime(pid)
}

func killPlan() plan {
	p := plan{
		name: "kill-1000", what: "kill of a flat tree of 1,000", unit: "s", rounds: 7, budget: 30 * time.Second,
		checks: []check{{says: "within 1.5x of a bare kill(-pgid)", form: ratioAtMost, peer: plain, limit: 1.5}},
		before: fits(1000, 1<<20, 0),
	}
	for _, column := range []string{ours, gocmd, leakless, plain} {
		p.contenders = append(p.contenders, contender{column: column, sample: func(ctx context.Context) (float64, error) {
			return killTree(starters[column], scaled(1000))(ctx)
		}})
	}
	return p
}

func fits(processes, each, files int) func(context.Context) (func(), error) {
	return func(context.Context) (func(), error) {
		if reason := room(processes, each, files); reason != "" {
			return nil, errors.New(reason)
		}
		return func() {}, nil
	}
}

// killTree measures from the kill until all are dead: for those who prove it, until
// they say so, for the others, until the pipe that all processes hold has no holder.
func killTree(start starter, size int) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		tree, err := startTree(ctx, start, size)
		if err != nil {
			return 0, err
		}
		defer tree.end()
		begin := time.Now()
		proven, err := tree.kill()
		tree.killed = true
		elapsed := since(begin)
		if err != nil {
			return 0, err
		}
		tree.held.SetReadDeadline(time.Now().Add(30 * time.Second))
		_, err = tree.held.Read(make([]byte, 1))
		if !proven {
			elapsed = since(begin)
		}
		if !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("processes were left after the kill: %v", err)
		}
		return elapsed, nil
	}
}

// tree is a shell and its children, all of which hold one pipe.
type tree struct {
	*running
	held   *os.File
	killed bool
}

// startTree returns when all processes are there.
func startTree(ctx context.Context, start starter, size int) (*tree, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do sleep 600 & i=$((i+1)); done; echo r; exec sleep 600`, size)
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout = w
	proc, err := start(ctx, cmd)
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	t := &tree{running: proc, held: r}
	r.SetReadDeadline(time.Now().Add(50 * time.Second))
	if _, err := io.ReadFull(r, make([]byte, 2)); err != nil {
		t.end()
		return nil, fmt.Errorf("a tree of %d did not come up: %w", size, err)
	}
	return t, nil
}

// end kills once only: of a dead tree the number may belong to a stranger by now.
func (t *tree) end() {
	if !t.killed {
		t.kill()
	}
	t.wait()
	t.held.Close()
}
