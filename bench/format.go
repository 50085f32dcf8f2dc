package main

import (
	"fmt"
	"math"
	"strconv"
)

// number writes a number with three digits that count.
func number(x float64) string {
	switch a := math.Abs(x); {
	case x == math.Trunc(x) && a < 1e6:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case a >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

// quantity writes a number with its unit, seconds in the unit that suits them.
func quantity(x float64, unit string) string {
	switch unit {
	case "s":
		switch a := math.Abs(x); {
		case a >= 1:
			return number(x) + " s"
		case a >= 1e-3:
			return number(x*1e3) + " ms"
		default:
			return number(x*1e6) + " us"
		}
	case "x":
		return number(x) + "x"
	}
	return number(x) + " " + unit
}

// cellText is a cell with its spread, and a "~" where that is wide. Of one sample
// there is no spread to tell.
func cellText(c Cell, unit string) string {
	if c.Reason != "" {
		return "failed"
	}
	if len(c.Samples) == 1 {
		return quantity(c.Median, unit) + " (once)"
	}
	mark := ""
	if c.Noisy() {
		mark = "~"
	}
	return fmt.Sprintf("%s%s ±%.0f%%", mark, quantity(c.Median, unit), c.Spread*50)
}

// outcomeText says what a check found.
func outcomeText(o Outcome) string {
	if o.Verdict == Skipped {
		return "skipped"
	}
	text := fmt.Sprintf("%s: %s (%s to %s)", o.Verdict, quantity(o.Median, o.Unit), quantity(o.Low, o.Unit), quantity(o.High, o.Unit))
	if o.Noisy && o.Verdict != Undecided {
		text += ", noisy"
	}
	return text
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
