package main

import "time"

// plans are the rows of section 8 of the design, in its order, with what their
// checks need for comparison.
func plans() []plan {
	return []plan{
		startPlan(),
		startDirectPlan(),
		guardianMemoryPlan(),
		guardianIdlePlan(),
		nodePlan(),
		lifePlan(),
		wirePlan("wire-64k", 64<<10, 256),
		wirePlan("wire-1m", 1<<20, 16),
		sessionPlan(),
		callsPlan("calls-1", 1, 500),
		callsPlan("calls-32", 32, 3000),
		killPlan(),
		findPlan(),
		idlePlan("idle-goroutines", "goroutines", 6, 0),
		idlePlan("idle-descriptors", "descriptors", 5, 1),
		idlePlan("idle-memory", "KiB", 128, 2),
		stubbornPlan(),
	}
}

const second = float64(time.Second)

func since(begin time.Time) float64 { return float64(time.Since(begin)) / second }
