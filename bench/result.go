package main

import "time"

// Report is what a run writes as JSON, and all that tables, chart and
// docs/performance.md are made from.
type Report struct {
	Machine Machine   `json:"machine"`
	Date    time.Time `json:"date"`
	Short   bool      `json:"short"`   // a smoke run: its numbers mean little
	Seconds float64   `json:"seconds"` // that the run took
	Rows    []Row     `json:"rows"`
	Faults  []Fault   `json:"faults"`
	Growth  []Growth  `json:"growth"`
}

// Machine is where a run was made, and with which versions.
type Machine struct {
	OS       string            `json:"os"`
	Arch     string            `json:"arch"`
	Kernel   string            `json:"kernel"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Go       string            `json:"go"`
	Load     string            `json:"load"`     // before the run
	Holds    string            `json:"holds"`    // what the library could get here
	Versions map[string]string `json:"versions"` // of the columns
}

// Row is one line of the table of section 8.
type Row struct {
	Name   string          `json:"name"`
	What   string          `json:"what"`
	Unit   string          `json:"unit"`
	Cells  map[string]Cell `json:"cells"` // by column
	Checks []Outcome       `json:"checks"`
	Reason string          `json:"reason,omitempty"` // why there is nothing
}

// Cell is what one column took in each round: less is better, always. Where it has
// no numbers it has a reason.
type Cell struct {
	Median  float64   `json:"median"`
	Spread  float64   `json:"spread"` // of the quartiles, as a part of the median
	Samples []float64 `json:"samples,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// Noisy reports whether the number should not be trusted.
func (c Cell) Noisy() bool { return c.Reason == "" && c.Spread > noisySpread }

// Outcome is a check and what came of it.
type Outcome struct {
	Says    string  `json:"says"` // the limit in words
	Median  float64 `json:"median"`
	Low     float64 `json:"low"` // the quartiles
	High    float64 `json:"high"`
	Unit    string  `json:"unit"`    // "x" for a ratio
	Verdict Verdict `json:"verdict"` // see there
	Noisy   bool    `json:"noisy"`   // a wide spread, whatever the verdict
}

// Verdict says whether a row holds.
type Verdict string

// The verdicts.
const (
	Met       Verdict = "met"
	Missed    Verdict = "missed"
	Undecided Verdict = "noisy" // the limit lies within the spread
	Skipped   Verdict = "skipped"
)

// Fault is one behaviour of a server, and what each column made of it.
type Fault struct {
	Name  string               `json:"name"`
	What  string               `json:"what"`
	Cells map[string]Aftermath `json:"cells"`
}

// Aftermath is what one column left behind.
type Aftermath struct {
	Returned float64  `json:"returned"` // seconds; negative: not within the deadline
	Left     []string `json:"left,omitempty"`
	Error    string   `json:"error,omitempty"`
	Reason   string   `json:"reason,omitempty"` // why it was not tried
}

// Growth is how one cost grows.
type Growth struct {
	Name   string            `json:"name"`
	What   string            `json:"what"`
	Axis   string            `json:"axis"`
	Sizes  []int             `json:"sizes"`
	Curves map[string][]Cell `json:"curves"` // by column, a cell for each size
	Unit   string            `json:"unit"`
	Reason string            `json:"reason,omitempty"`
}
