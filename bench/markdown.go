package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

// performance is docs/performance.md without its numbers.
//
//go:embed performance.md.tmpl
var performance string

// markdown fills the template: no number of the page is written by hand.
func markdown(r Report) (string, error) {
	t, err := template.New("performance").Funcs(template.FuncMap{
		"checks": checksTable, "medians": mediansTable, "faults": faultsTable, "growth": growthTables,
		"cell": r.cell, "check": r.check, "missed": missedRows,
	}).Parse(performance)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, r)
	return b.String(), err
}

// cell is one number of a row, for the text; where it was not measured it says so.
func (r Report) cell(row, column string) string {
	for _, x := range r.Rows {
		if c, ok := x.Cells[column]; ok && x.Name == row && c.Reason == "" {
			return quantity(c.Median, x.Unit)
		}
	}
	return "(not measured)"
}

// check is what a check of a row found, for the text.
func (r Report) check(row string, i int) string {
	for _, x := range r.Rows {
		if x.Name == row && i < len(x.Checks) && x.Checks[i].Verdict != Skipped {
			return quantity(x.Checks[i].Median, x.Checks[i].Unit)
		}
	}
	return "(not measured)"
}

// missedRows lists the rows that do not hold.
func missedRows(r Report) string {
	var names []string
	for _, row := range r.Rows {
		for _, o := range row.Checks {
			if o.Verdict == Missed {
				names = append(names, "`"+row.Name+"` ("+o.Says+")")
			}
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func checksTable(r Report) string {
	var b strings.Builder
	pipes(&b, "row", "what", "must hold", "found", "middle half")
	rule(&b, 5)
	for _, row := range r.Rows {
		if row.Reason != "" {
			pipes(&b, row.Name, row.What, "", "skipped: "+row.Reason, "")
			continue
		}
		for _, o := range row.Checks {
			if o.Verdict == Skipped {
				pipes(&b, row.Name, row.What, o.Says, "skipped", "")
				continue
			}
			found := fmt.Sprintf("%s: %s", o.Verdict, quantity(o.Median, o.Unit))
			if o.Noisy && o.Verdict != Undecided {
				found += ", noisy"
			}
			pipes(&b, row.Name, row.What, o.Says, found, quantity(o.Low, o.Unit)+" to "+quantity(o.High, o.Unit))
		}
	}
	return b.String()
}

func mediansTable(r Report) string {
	var b strings.Builder
	pipes(&b, append([]string{"row"}, columns...)...)
	rule(&b, 1+len(columns))
	var notes []string
	for _, row := range r.Rows {
		cells := []string{row.Name}
		for _, c := range columns {
			cells = append(cells, tableCell(row, c))
			if reason := row.Cells[c].Reason; reason != "" {
				notes = append(notes, fmt.Sprintf("- %s, %s: %s", row.Name, c, reason))
			}
		}
		pipes(&b, cells...)
	}
	return b.String() + trailing(notes)
}

func faultsTable(r Report) string {
	var b strings.Builder
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "\n**%s**: %s\n\n", f.Name, f.What)
		pipes(&b, "", "returned", "left behind", "error")
		rule(&b, 4)
		for _, c := range columnsOf(f.Cells) {
			a := f.Cells[c]
			left := strings.Join(a.Left, ", ")
			if left == "" {
				left = "nothing"
			}
			pipes(&b, c, returnedText(a), left, clipTo(a.Error+a.Reason, 160))
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

func growthTables(r Report) string {
	var b strings.Builder
	for _, g := range r.Growth {
		fmt.Fprintf(&b, "\n%s\n\n", g.What)
		header := []string{g.Axis}
		for _, n := range g.Sizes {
			header = append(header, axisText(g, n))
		}
		pipes(&b, header...)
		rule(&b, len(header))
		for _, c := range columnsOf(g.Curves) {
			cells := []string{c}
			for _, cell := range g.Curves[c] {
				cells = append(cells, cellText(cell, g.Unit))
			}
			pipes(&b, cells...)
		}
		var notes []string
		for _, reason := range growthReasons(g) {
			notes = append(notes, "- "+reason)
		}
		b.WriteString(trailing(notes))
	}
	return strings.TrimPrefix(b.String(), "\n")
}

func trailing(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "\n" + strings.Join(notes, "\n") + "\n"
}

func pipes(b *strings.Builder, cells ...string) {
	b.WriteString("|")
	for _, c := range cells {
		// What servers say is not ours to format.
		c = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(c)
		b.WriteString(" " + c + " |")
	}
	b.WriteString("\n")
}

func rule(b *strings.Builder, n int) { b.WriteString("|" + strings.Repeat("---|", n) + "\n") }
