package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stdioguard/stdioguard/bench/internal/tiny"
)

// volume is what a sample moves at least; a smoke run takes a part of it.
var volume = 1.0

func scaled(count int) int { return max(1, int(float64(count)*volume)) }

func wirePlan(name string, size, count int) plan {
	p := plan{
		name: name, what: fmt.Sprintf("Connection: one reply of %s", sizeText(size)), unit: "s", rounds: 11, budget: 12 * time.Second,
		checks: []check{
			{says: "at least 5x the throughput of CommandTransport", form: ratioAtLeast, peer: sdk, limit: 5},
			{says: "within 1.5x of a raw pipe with a line reader", form: ratioAtMost, peer: plain, limit: 1.5},
		},
	}
	p.contenders, p.before = wireContenders([]string{ours, sdk, mcpgo, plain}, size, count)
	return p
}

// wireContenders share one connection each over all rounds: the first exchange, which
// grows buffers and builds the reply, is nobody's sample.
func wireContenders(names []string, size, count int) ([]contender, func(context.Context) (func(), error)) {
	if size < tiny.Smallest {
		size = 0 // the smallest answer there is
	}
	open := map[string]*wire{}
	before := func(ctx context.Context) (func(), error) {
		return func() {
			for _, w := range open {
				w.close()
			}
			clear(open)
		}, nil
	}
	var contenders []contender
	for _, column := range names {
		contenders = append(contenders, contender{column: column, sample: func(ctx context.Context) (float64, error) {
			w := open[column]
			if w == nil {
				var err error
				if w, err = wires[column](ctx, tinyServer()); err != nil {
					return 0, err
				}
				open[column] = w
				if err := w.exchange(ctx, size, min(count, 8)); err != nil {
					return 0, err
				}
			}
			n := scaled(count)
			begin := time.Now()
			err := w.exchange(ctx, size, n)
			return since(begin) / float64(n), err
		}})
	}
	return contenders, before
}

func sizeText(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
