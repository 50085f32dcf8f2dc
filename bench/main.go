// Command bench compares this library with its peers, in one run on one machine:
//
//	cd bench && go run .
//
// prints a table of ratios, and writes it as JSON and as an SVG chart. The rows are
// what the library promises of its speed; the columns are this library, the peers,
// and plain os/exec or a raw pipe, below which nobody can get.
//
// Rounds alternate between the columns; what is shown is the median and the spread of
// the middle half. A check is met or missed only where the whole middle half is on one
// side of its limit; otherwise the row is called noisy.
//
// The run is a tree of processes held by this library itself (see outer.go): an
// interrupt, a panic or a kill leaves nothing behind.
//
// Data flows one way: plan -> row -> Report -> table, JSON, SVG, docs/performance.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"

	_ "github.com/stdioguard/stdioguard/bench/internal/tiny" // its init is the fast server
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// options are the flags.
type options struct {
	short         bool
	rows          *regexp.Regexp
	json, svg, md string
	from          string
	docs          bool
}

func main() {
	servers.Main() // where this process was started as one of the zoo
	if spec := os.Getenv(hostVar); spec != "" {
		runHost(spec)
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2) // flag has said why
	}
	switch {
	case o.from != "":
		err = redraw(o)
	case os.Getenv(workerVar) != "":
		err = work(o)
	default:
		os.Exit(outer(os.Args[1:]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.short, "short", false, "a smoke run of seconds, whose numbers mean little")
	rows := flags.String("rows", "", "a regular `expression` for the names of rows; fault/NAME and growth/NAME are names, too")
	flags.StringVar(&o.json, "json", "results/latest.json", "where the JSON goes")
	flags.StringVar(&o.svg, "svg", "results/latest.svg", "where the chart goes")
	flags.StringVar(&o.md, "md", "results/latest.md", "where the tables go, as docs/performance.md has them")
	flags.BoolVar(&o.docs, "docs", false, "write ../docs/performance.md and ../docs/performance.svg as well")
	flags.StringVar(&o.from, "from", "", "make chart and tables from this JSON `file` of an earlier run, and measure nothing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.docs && (o.short || *rows != "") {
		err = errors.New("the page is made from whole runs: -docs goes with neither -short nor -rows")
		fmt.Fprintln(os.Stderr, "bench:", err)
		return o, err
	}
	if o.rows, err = regexp.Compile(*rows); err != nil {
		fmt.Fprintln(os.Stderr, "bench: -rows:", err)
	}
	return o, err
}
