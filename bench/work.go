package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wholeBound is how long a run may take: what has not begun by then says so.
const wholeBound = 270 * time.Second

// work measures, and writes what came of it.
func work(o options) error {
	ctx, cancel := context.WithTimeout(context.Background(), wholeBound)
	defer cancel()
	if o.short {
		volume = 0.1
	}
	begin := time.Now()
	report := Report{Machine: describe(ctx), Date: begin.UTC().Truncate(time.Second), Short: o.short}
	report.Rows = measureRows(ctx, o)
	report.Faults = measureFaults(ctx, o)
	report.Growth = measureGrowth(ctx, o)
	report.Seconds = since(begin)
	if len(report.Rows)+len(report.Faults)+len(report.Growth) == 0 {
		return fmt.Errorf("-rows %q is the name of nothing; there are %s", o.rows, strings.Join(choices(), ", "))
	}
	if err := writeJSON(o.json, report); err != nil {
		return err
	}
	return o.publish(report)
}

// choices are what -rows chooses from.
func choices() (all []string) {
	for _, p := range plans() {
		all = append(all, p.name)
	}
	for _, f := range faults {
		all = append(all, "fault/"+f.name)
	}
	for _, p := range growthPlans() {
		all = append(all, "growth/"+p.name)
	}
	return all
}

func measureRows(ctx context.Context, o options) (rows []Row) {
	for _, p := range plans() {
		if !o.rows.MatchString(p.name) {
			continue
		}
		progress("%s", p.name)
		if ctx.Err() != nil {
			rows = append(rows, Row{Name: p.name, What: p.what, Unit: p.unit, Reason: "out of time"}.judge(p.checks))
			continue
		}
		rows = append(rows, p.measure(ctx, o.short))
	}
	return rows
}

func measureFaults(ctx context.Context, o options) []Fault {
	var wanted []fault
	for _, f := range faults {
		if o.rows.MatchString("fault/" + f.name) {
			wanted = append(wanted, f)
		}
	}
	if len(wanted) > 0 {
		progress("%d faults", len(wanted))
	}
	return runFaults(ctx, wanted)
}

func measureGrowth(ctx context.Context, o options) (all []Growth) {
	for _, p := range growthPlans() {
		if o.rows.MatchString("growth/" + p.name) {
			progress("growth of %s", p.name)
			all = append(all, p.measure(ctx, o.short)...)
		}
	}
	return all
}

var began = time.Now()

// progress goes to stderr: stdout is the table's.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// redraw publishes an earlier run.
func redraw(o options) error {
	raw, err := os.ReadFile(o.from)
	if err != nil {
		return err
	}
	var report Report
	if err := json.Unmarshal(raw, &report); err != nil {
		return err
	}
	if o.docs && report.Short {
		return errors.New("the page is made from whole runs, and this was a short one")
	}
	return o.publish(report)
}

func (o options) publish(report Report) error {
	fmt.Print(table(report))
	tables, err := markdown(report)
	if err != nil {
		return err
	}
	chart := svg(report)
	files := map[string]string{o.svg: chart, o.md: tables}
	if o.docs {
		files["../docs/performance.md"] = tables
		files["../docs/performance.svg"] = chart
	}
	for path, text := range files {
		if err := write(path, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(path string, report Report) error {
	raw, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		return err
	}
	return write(path, append(raw, '\n'))
}

// write makes the directory where it is missing. An empty path wants nothing.
func write(path string, text []byte) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
