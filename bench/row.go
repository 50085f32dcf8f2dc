package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// The columns.
const (
	ours     = "stdioguard"
	sdk      = "go-sdk"
	mcpgo    = "mcp-go"
	gocmd    = "go-cmd"
	leakless = "leakless"
	plain    = "plain" // os/exec, or a raw pipe with a line reader
)

var columns = []string{ours, sdk, mcpgo, gocmd, leakless, plain}

// plan is how a row is measured.
type plan struct {
	name, what, unit string
	rounds           int
	budget           time.Duration // no new round after it, once there were three
	contenders       []contender
	checks           []check
	before           func(context.Context) (after func(), err error) // nil: nothing to prepare
}

// contender measures one column once. Less is better.
type contender struct {
	column string
	sample func(context.Context) (float64, error)
	rounds int // at most; zero: as many as the row
}

// check is one limit of a row.
type check struct {
	says  string
	form  form
	peer  string // the other column, where the form needs one
	limit float64
}

type form int

const (
	ratioAtMost  form = iota // ours / peer
	ratioAtLeast             // peer / ours: so many times faster
	moreAtMost               // ours - peer
	atMost                   // ours
)

const (
	fewestRounds = 3
	sampleBound  = 40 * time.Second
)

// measure runs the rounds of a plan. In each of them every contender has one turn,
// and the next round begins with another one: what the machine does meanwhile hits
// all alike.
func (p plan) measure(ctx context.Context, short bool) Row {
	row := Row{Name: p.name, What: p.what, Unit: p.unit, Cells: map[string]Cell{}}
	if p.before != nil {
		after, err := p.before(ctx)
		if err != nil {
			row.Reason = clip(err.Error())
			return row.judge(p.checks)
		}
		defer after()
	}
	rounds := p.rounds
	if short {
		rounds = min(rounds, 2)
	}
	begin := time.Now()
	for round := range rounds {
		for i := range p.contenders {
			c := p.contenders[(round+i)%len(p.contenders)]
			if cell := row.Cells[c.column]; cell.Reason == "" && (c.rounds == 0 || round < c.rounds) {
				row.Cells[c.column] = c.turn(ctx, cell)
			}
		}
		if round+1 >= fewestRounds && time.Since(begin) > p.budget {
			break
		}
	}
	for column, cell := range row.Cells {
		_, cell.Median, _ = quartiles(cell.Samples)
		if cell.Spread = spread(cell.Samples); len(cell.Samples) == 0 {
			cell.Median = 0
		}
		row.Cells[column] = cell
	}
	return row.judge(p.checks)
}

// turn adds a sample to a cell, or the reason why there is none. A contender that
// fails once has no further turn.
func (c contender) turn(ctx context.Context, cell Cell) Cell {
	x, err := bounded(ctx, c.sample)
	switch {
	case err != nil:
		cell.Samples, cell.Reason = nil, clip(err.Error())
	case math.IsNaN(x) || math.IsInf(x, 0):
		cell.Samples, cell.Reason = nil, "measured no number"
	default:
		cell.Samples = append(cell.Samples, x)
	}
	return cell
}

// bounded leaves a sample behind that does not heed its context: some peers cannot.
func bounded(ctx context.Context, sample func(context.Context) (float64, error)) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleBound)
	defer cancel()
	type result struct {
		x   float64
		err error
	}
	done := make(chan result, 1)
	go func() {
		x, err := sample(ctx)
		done <- result{x, err}
	}()
	select {
	case r := <-done:
		return r.x, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.x, r.err
	case <-time.After(time.Second):
		return 0, fmt.Errorf("did not end: %w", ctx.Err())
	}
}

// judge holds the row against its limits.
func (r Row) judge(checks []check) Row {
	for _, c := range checks {
		o := Outcome{Says: c.says, Unit: "x", Verdict: Skipped}
		if c.form == moreAtMost || c.form == atMost {
			o.Unit = r.Unit
		}
		if xs := c.values(r); len(xs) > 0 {
			o.Low, o.Median, o.High = quartiles(xs)
			o.Verdict = c.verdict(o)
			o.Noisy = o.Verdict == Undecided || spread(xs) > noisySpread
		}
		r.Checks = append(r.Checks, o)
	}
	return r
}

// values are those of each round, so that a slow minute of the machine hits both
// sides of a ratio.
func (c check) values(r Row) (xs []float64) {
	mine, theirs := r.Cells[ours].Samples, r.Cells[c.peer].Samples
	for i, x := range mine {
		if c.form == atMost {
			xs = append(xs, x)
			continue
		}
		if i >= len(theirs) {
			break
		}
		switch y := theirs[i]; {
		case c.form == moreAtMost:
			xs = append(xs, x-y)
		case c.form == ratioAtMost && y > 0:
			xs = append(xs, x/y)
		case c.form == ratioAtLeast && x > 0:
			xs = append(xs, y/x)
		}
	}
	return xs
}

// verdict is certain only where both quartiles are on the same side of the limit.
func (c check) verdict(o Outcome) Verdict {
	within := func(x float64) bool {
		if c.form == ratioAtLeast {
			return x >= c.limit
		}
		return x <= c.limit
	}
	switch {
	case within(o.Low) && within(o.High):
		return Met
	case !within(o.Low) && !within(o.High):
		return Missed
	}
	return Undecided
}

// columnsOf returns the columns that have a cell, in the usual order.
func columnsOf[T any](cells map[string]T) (names []string) {
	for _, c := range columns {
		if _, ok := cells[c]; ok {
			names = append(names, c)
		}
	}
	return names
}

func clip(s string) string {
	runes := []rune(s)
	for i, r := range runes {
		if r < ' ' {
			runes[i] = ' '
		}
	}
	if len(runes) > 300 {
		return string(runes[:300]) + "..."
	}
	return string(runes)
}
