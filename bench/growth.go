package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/stdioguard/stdioguard/bench/internal/tiny"
)

// growthPlan measures some costs at several sizes. In short mode only the sizes up
// to small are tried.
type growthPlan struct {
	name  string
	sizes []int
	small int
	run   func(ctx context.Context, sizes []int, short bool) []Growth
}

func growthPlans() []growthPlan {
	return []growthPlan{
		{name: "servers", sizes: []int{1, 10, 100, 500}, small: 10, run: growServers},
		{name: "lines", sizes: []int{tiny.Smallest, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20}, small: 16 << 10, run: growLines},
		{name: "trees", sizes: []int{10, 100, 1000, 4000}, small: 100, run: growTrees},
	}
}

func (p growthPlan) measure(ctx context.Context, short bool) []Growth {
	var sizes []int
	for _, n := range p.sizes {
		if !short || n <= p.small {
			sizes = append(sizes, n)
		}
	}
	return p.run(ctx, sizes, short)
}

func newGrowth(name, what, axis, unit string, sizes []int) Growth {
	return Growth{Name: name, What: what, Axis: axis, Unit: unit, Sizes: sizes, Curves: map[string][]Cell{}}
}

func (g Growth) add(column string, c Cell) { g.Curves[column] = append(g.Curves[column], c) }

// failed is the cell of a size that was not measured.
func failed(reason string) Cell { return Cell{Reason: clip(reason)} }

func summary(samples []float64) Cell {
	_, median, _ := quartiles(samples)
	return Cell{Median: median, Spread: spread(samples), Samples: samples}
}

// fleet is what a number of servers costs.
type fleet struct {
	start, stop, goroutines, host, helpers float64
	err                                    error
}

// growServers starts and stops many servers: 16 of them connect at once, all are
// closed at once.
func growServers(ctx context.Context, sizes []int, short bool) []Growth {
	start := newGrowth("servers-start", "start all, 16 at once", "servers", "s", sizes)
	stop := newGrowth("servers-stop", "stop all at once", "servers", "s", sizes)
	goroutines := newGrowth("servers-goroutines", "goroutines of the host", "servers", "goroutines", sizes)
	host := newGrowth("servers-memory", "heap and stacks of the host", "servers", "KiB", sizes)
	helpers := newGrowth("servers-helpers", "private memory of all guardians", "servers", "KiB", sizes)
	for _, n := range sizes {
		for _, column := range sessionColumns {
			f := measureFleet(ctx, column, n, short)
			for g, x := range map[*Growth][]float64{&start: f.starts(), &stop: f.stops(), &goroutines: f.goroutines(), &host: f.hosts()} {
				if f.err != nil {
					g.add(column, failed(f.err.Error()))
				} else {
					g.add(column, summary(x))
				}
			}
			switch {
			case column != ours:
			case f.err != nil:
				helpers.add(column, failed(f.err.Error()))
			default:
				helpers.add(column, summary(f.helpers()))
			}
		}
	}
	return []Growth{start, stop, goroutines, host, helpers}
}

type fleets struct {
	all []fleet
	err error
}

func (f fleets) each(get func(fleet) float64) (xs []float64) {
	for _, one := range f.all {
		xs = append(xs, get(one))
	}
	return xs
}

func (f fleets) starts() []float64     { return f.each(func(x fleet) float64 { return x.start }) }
func (f fleets) stops() []float64      { return f.each(func(x fleet) float64 { return x.stop }) }
func (f fleets) goroutines() []float64 { return f.each(func(x fleet) float64 { return x.goroutines }) }
func (f fleets) hosts() []float64      { return f.each(func(x fleet) float64 { return x.host }) }
func (f fleets) helpers() []float64    { return f.each(func(x fleet) float64 { return x.helpers }) }

// measureFleet takes several samples of few servers, and one of many.
func measureFleet(ctx context.Context, column string, n int, short bool) (all fleets) {
	// A tiny server takes 3 MiB, a guardian one more; three pipes have six ends while
	// a server starts.
	if reason := room(2*n, 4<<20, 3*n+6*inFlight); reason != "" {
		return fleets{err: errors.New(reason)}
	}
	rounds := 3
	if short || n >= 100 {
		rounds = 1
	}
	for range rounds {
		f := oneFleet(ctx, column, n)
		if f.err != nil {
			return fleets{err: f.err}
		}
		all.all = append(all.all, f)
	}
	return all
}

// patientRung lets a fleet end by itself, however busy its end is.
const patientRung = 5 * time.Second

func oneFleet(ctx context.Context, column string, n int) (f fleet) {
	ctx, cancel := context.WithTimeout(ctx, sampleBound)
	defer cancel()
	before, err := takeCensus()
	if err != nil {
		return fleet{err: err}
	}
	begin := time.Now()
	all, err := connectMany(ctx, column, n, min(n, 16), patientRung, tinyServer)
	f.start = since(begin)
	if err == nil {
		f.goroutines = float64(runtime.NumGoroutine()) - before.goroutines
		now, _ := takeCensus()
		f.host = now.memory - before.memory
		f.helpers = guardiansMemory()
	}
	begin = time.Now()
	closeMany(all)
	f.stop = since(begin)
	f.err = err
	return f
}

// growTrees kills flat trees.
func growTrees(ctx context.Context, sizes []int, short bool) []Growth {
	g := newGrowth("trees-kill", "kill of a flat tree", "processes", "s", sizes)
	for _, n := range sizes {
		rounds := 5
		if n >= 1000 || short {
			rounds = 1
		}
		samples, failure := map[string][]float64{}, map[string]string{}
		columns := []string{ours, gocmd, leakless, plain}
		for range rounds {
			for _, column := range columns {
				x, err := growTree(ctx, column, n)
				if err != nil {
					failure[column] = err.Error()
				}
				samples[column] = append(samples[column], x)
			}
		}
		for _, column := range columns {
			if failure[column] != "" {
				g.add(column, failed(failure[column]))
				continue
			}
			g.add(column, summary(samples[column]))
		}
	}
	return []Growth{g}
}

func growTree(ctx context.Context, column string, n int) (float64, error) {
	if reason := room(n, 1<<20, 0); reason != "" {
		return 0, errors.New(reason)
	}
	if ctx.Err() != nil {
		return 0, errors.New("out of time")
	}
	return killTree(starters[column], n)(ctx)
}

// growLines reads replies of several sizes, some MiB of each.
func growLines(ctx context.Context, sizes []int, short bool) []Growth {
	g := newGrowth("lines", "Connection: one reply", "bytes", "s", sizes)
	for _, size := range sizes {
		count := min(max(8<<20/size, 2), 4000)
		names := []string{ours, sdk, mcpgo, plain}
		p := plan{name: "lines", rounds: 5, budget: 4 * time.Second}
		p.contenders, p.before = wireContenders(names, size, count)
		row := p.measure(ctx, short)
		for _, column := range names {
			g.add(column, row.Cells[column])
		}
	}
	return []Growth{g}
}
