package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The chart has a line for each row and a dot for each column that it has: how many
// times as much as this library, on a logarithmic axis. What is right of the middle
// costs more.
const (
	chartWidth = 760
	chartLeft  = 150 // where the axis begins
	chartRight = 730
	chartTop   = 64
	chartStep  = 24
)

// colors stand out on white and on black.
var colors = map[string]string{
	ours: "#3b82d6", sdk: "#d9822b", mcpgo: "#9470dc", gocmd: "#2f9e6e", leakless: "#cc4c80", plain: "#7f8b9b",
}

// dots is one line of the chart.
type dots struct {
	label  string
	ratios map[string]float64
	noisy  map[string]bool
}

func svg(r Report) string {
	lines := chartLines(r)
	low, high := chartRange(lines)
	x := func(ratio float64) float64 {
		at := (math.Log(ratio) - math.Log(low)) / (math.Log(high) - math.Log(low))
		return chartLeft + at*(chartRight-chartLeft)
	}
	bottom := chartTop + chartStep*len(lines)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, bottom+46)
	b.WriteString(`<style>text{fill:#24292f}.g{stroke:#8888;stroke-width:1}@media(prefers-color-scheme:dark){text{fill:#d0d7de}}</style>` + "\n")
	fmt.Fprintf(&b, `<text x="8" y="18" font-weight="bold">Cost against stdioguard = 1; right of the line costs more</text>`+"\n")
	legend(&b, r)
	for _, tick := range ticks(low, high) {
		fmt.Fprintf(&b, `<line class="g" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x(tick), x(tick), chartTop-8, bottom, x(tick), bottom+14, number(tick))
	}
	fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s" stroke-width="2"/>`+"\n", x(1), x(1), chartTop-8, bottom, colors[ours])
	for i, line := range lines {
		y := chartTop + chartStep*i + 8
		fmt.Fprintf(&b, `<text x="8" y="%d">%s</text>`+"\n", y+4, html.EscapeString(line.label))
		for _, c := range columnsOf(line.ratios) {
			// A noisy number is a ring.
			fill := colors[c]
			if line.noisy[c] {
				fill = "none"
			}
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%d" r="5" fill="%s" stroke="%s" stroke-width="2"><title>%s: %sx</title></circle>`+"\n",
				x(line.ratios[c]), y, fill, colors[c], c, number(line.ratios[c]))
		}
	}
	fmt.Fprintf(&b, `<text x="8" y="%d" font-size="11">%s</text>`+"\n</svg>\n", bottom+36, html.EscapeString(caption(r)))
	return b.String()
}

func caption(r Report) string {
	return fmt.Sprintf("%s, %d cores, %s, %s; rings are noisy", r.Machine.CPU, r.Machine.Cores, r.Machine.Go, r.Date.Format("2006-01-02"))
}

// chartLines leaves out what has nothing to be compared with.
func chartLines(r Report) (lines []dots) {
	for _, row := range r.Rows {
		mine := row.Cells[ours]
		if mine.Reason != "" || mine.Median <= 0 || row.Unit == "x" {
			continue
		}
		line := dots{label: row.Name, ratios: map[string]float64{}, noisy: map[string]bool{}}
		for _, c := range columnsOf(row.Cells) {
			cell := row.Cells[c]
			if c == ours || cell.Reason != "" || cell.Median <= 0 {
				continue
			}
			line.ratios[c] = cell.Median / mine.Median
			line.noisy[c] = cell.Noisy() || mine.Noisy()
		}
		if len(line.ratios) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

func chartRange(lines []dots) (low, high float64) {
	low, high = 0.5, 2
	for _, line := range lines {
		for _, ratio := range line.ratios {
			low, high = min(low, ratio), max(high, ratio)
		}
	}
	return low / 1.2, high * 1.2
}

func ticks(low, high float64) (all []float64) {
	for decade := 0.001; decade <= high; decade *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if t := decade * step; t >= low && t <= high {
				all = append(all, t)
			}
		}
	}
	return all
}

func legend(b *strings.Builder, r Report) {
	at := 8
	for _, c := range columns[1:] {
		name := c
		if v := r.Machine.Versions[c]; v != "" {
			name += " " + v
		}
		fmt.Fprintf(b, `<circle cx="%d" cy="36" r="5" fill="%s"/><text x="%d" y="40">%s</text>`+"\n", at+5, colors[c], at+15, html.EscapeString(name))
		at += 30 + 7*len(name)
	}
}
