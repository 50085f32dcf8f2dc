package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table is the report for a terminal.
func table(r Report) string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %d cores, %s/%s %s, %s, load %s; %.0f s\n", m.CPU, m.Cores, m.OS, m.Arch, m.Kernel, m.Go, m.Load, r.Seconds)
	fmt.Fprintf(&b, "here: %s\n\n", m.Holds)
	if r.Short {
		b.WriteString("A smoke run: the numbers mean little, and no verdict is one.\n\n")
	}
	grid(&b, append([]string{"row"}, columns...), func(line func(...string)) {
		for _, row := range r.Rows {
			cells := []string{row.Name}
			for _, c := range columns {
				cells = append(cells, tableCell(row, c))
			}
			line(cells...)
		}
	})
	b.WriteByte('\n')
	grid(&b, []string{"row", "must hold", "found"}, func(line func(...string)) {
		for _, row := range r.Rows {
			for _, o := range row.Checks {
				line(row.Name, o.Says, outcomeText(o))
			}
		}
	})
	for _, row := range r.Rows {
		reasons(&b, row)
	}
	b.WriteByte('\n')
	faultTable(&b, r.Faults)
	growthTable(&b, r.Growth)
	return b.String()
}

func tableCell(row Row, column string) string {
	c, ok := row.Cells[column]
	if !ok {
		return "-"
	}
	return cellText(c, row.Unit)
}

// reasons says why a cell or a row has no numbers: nothing is left out silently.
func reasons(b *strings.Builder, row Row) {
	if row.Reason != "" {
		fmt.Fprintf(b, "%s: SKIPPED: %s\n", row.Name, row.Reason)
	}
	for _, c := range columnsOf(row.Cells) {
		if reason := row.Cells[c].Reason; reason != "" {
			fmt.Fprintf(b, "%s, %s: %s\n", row.Name, c, reason)
		}
	}
}

func faultTable(b *strings.Builder, faults []Fault) {
	for _, f := range faults {
		fmt.Fprintf(b, "%s: %s\n", f.Name, f.What)
		grid(b, nil, func(line func(...string)) {
			for _, c := range columnsOf(f.Cells) {
				a := f.Cells[c]
				line("  "+c, returnedText(a), leftText(a), clipTo(a.Error+a.Reason, 100))
			}
		})
	}
}

func returnedText(a Aftermath) string {
	switch {
	case a.Reason != "":
		return "not tried"
	case a.Returned < 0:
		return "never"
	}
	return quantity(a.Returned, "s")
}

func leftText(a Aftermath) string {
	if len(a.Left) == 0 {
		return "nothing left"
	}
	return "left: " + strings.Join(a.Left, ", ")
}

func growthTable(b *strings.Builder, all []Growth) {
	for _, g := range all {
		fmt.Fprintf(b, "\n%s\n", g.What)
		header := []string{"  " + g.Axis}
		for _, n := range g.Sizes {
			header = append(header, axisText(g, n))
		}
		grid(b, header, func(line func(...string)) {
			for _, c := range columnsOf(g.Curves) {
				cells := []string{"  " + c}
				for _, cell := range g.Curves[c] {
					cells = append(cells, cellText(cell, g.Unit))
				}
				line(cells...)
			}
		})
		for _, reason := range growthReasons(g) {
			fmt.Fprintf(b, "  %s\n", reason)
		}
	}
}

func growthReasons(g Growth) (all []string) {
	for _, c := range columnsOf(g.Curves) {
		for i, cell := range g.Curves[c] {
			if cell.Reason != "" {
				all = append(all, fmt.Sprintf("%s, %s: %s", c, axisText(g, g.Sizes[i]), cell.Reason))
			}
		}
	}
	return all
}

func axisText(g Growth, n int) string {
	if g.Axis == "bytes" {
		return sizeText(n)
	}
	return fmt.Sprint(n)
}

func grid(b *strings.Builder, header []string, fill func(line func(...string))) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }
	if header != nil {
		line(header...)
	}
	fill(line)
	w.Flush()
}

func clipTo(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}
