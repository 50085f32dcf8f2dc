package main

import (
	"math"
	"slices"
)

// quartiles returns the median of xs and the quarters around it. They are what is
// shown of a sample: a machine that others use has outliers on one side only, and a
// mean would be theirs.
func quartiles(xs []float64) (q1, median, q3 float64) {
	if len(xs) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(xs))
	return quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)
}

func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// spread is the distance of the quartiles as a part of the median.
func spread(xs []float64) float64 {
	q1, median, q3 := quartiles(xs)
	if median == 0 || math.IsNaN(median) {
		return 0
	}
	return (q3 - q1) / math.Abs(median)
}

// noisySpread is the spread from which on a number is called noisy.
const noisySpread = 0.25
