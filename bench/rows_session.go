package main

import (
	"context"
	_ "embed"
	"errors"
	"os/exec"
	"time"
)

const rung = 200 * time.Millisecond

// sessionContenders keep one session each over all rounds.
func sessionContenders(names []string, sample func(context.Context, *session) (float64, error)) ([]contender, func(context.Context) (func(), error)) {
	open := map[string]*session{}
	before := func(context.Context) (func(), error) {
		return func() {
			for _, s := range open {
				s.close()
			}
			clear(open)
		}, nil
	}
	var contenders []contender
	for _, column := range names {
		contenders = append(contenders, contender{column: column, sample: func(ctx context.Context) (float64, error) {
			s := open[column]
			if s == nil {
				var err error
				if s, err = connectors[column](ctx, tinyServer(), rung); err != nil {
					return 0, err
				}
				open[column] = s
				if _, err := sample(ctx, s); err != nil { // warm
					return 0, err
				}
			}
			return sample(ctx, s)
		}})
	}
	return contenders, before
}

func sessionPlan() plan {
	p := plan{
		name: "session-1m", what: "session: one call with a reply of 1 MiB", unit: "s", rounds: 11, budget: 12 * time.Second,
		checks: []check{{says: "at least 1.6x the throughput of CommandTransport", form: ratioAtLeast, peer: sdk, limit: 1.6}},
	}
	p.contenders, p.before = sessionContenders([]string{ours, sdk, mcpgo, plain}, func(ctx context.Context, s *session) (float64, error) {
		n := scaled(8)
		begin := time.Now()
		err := callers(1, n, func() error { return s.call(ctx, toolOf(1<<20), "") })
		return since(begin) / float64(n), err
	})
	return p
}

// callsPlan: a raw pipe has one caller, who is as fast as the pipe.
func callsPlan(name string, goroutines, count int) plan {
	p := plan{
		name: name, what: "session: one small call, " + plural(goroutines, "caller"), unit: "s", rounds: 21, budget: 10 * time.Second,
		checks: []check{{says: "not slower than CommandTransport (5 % for the clock)", form: ratioAtMost, peer: sdk, limit: 1.05}},
	}
	names := []string{ours, sdk, mcpgo}
	if goroutines == 1 {
		names = append(names, plain)
	}
	p.contenders, p.before = sessionContenders(names, func(ctx context.Context, s *session) (float64, error) {
		n := max(scaled(count), goroutines)
		begin := time.Now()
		err := callers(goroutines, n, func() error { return s.call(ctx, "ping", "") })
		return since(begin) / float64(n), err
	})
	return p
}

// life is connect, one call, close.
func life(column string, command func() *exec.Cmd) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		begin := time.Now()
		s, err := connectors[column](ctx, command(), rung)
		if err != nil {
			return 0, err
		}
		err = errors.Join(s.call(ctx, "ping", ""), s.close())
		return since(begin), err
	}
}

func lifeOf(p plan, command func() *exec.Cmd) plan {
	for _, column := range []string{ours, sdk, mcpgo} {
		p.contenders = append(p.contenders, contender{column: column, sample: life(column, command)})
	}
	return p
}

//go:embed server.js
var nodeServer string

func nodePlan() plan {
	return lifeOf(plan{
		name: "node", what: "connect, one call, close of a node server", unit: "s", rounds: 21, budget: 12 * time.Second,
		checks: []check{{says: "within 1.1x of CommandTransport", form: ratioAtMost, peer: sdk, limit: 1.1}},
		before: func(context.Context) (func(), error) {
			_, err := exec.LookPath("node")
			return func() {}, err
		},
	}, func() *exec.Cmd { return exec.Command("node", "-e", nodeServer) })
}

func lifePlan() plan {
	return lifeOf(plan{
		name: "life", what: "the same of the fastest server there is, for scale", unit: "s", rounds: 21, budget: 8 * time.Second,
	}, tinyServer)
}
