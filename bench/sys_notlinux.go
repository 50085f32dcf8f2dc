//go:build !linux

package main

import (
	"errors"
	"fmt"
	"time"
)

func privateMemory(int) (int, error) { return 0, errors.ErrUnsupported }

func cpuTime(int) (time.Duration, int, error) { return 0, 0, errors.ErrUnsupported }

// room knows no limits here but that of descriptors, and is careful.
func room(processes, _, files int) string {
	if limit := openFiles(); limit > 0 && files > limit-64 {
		return fmt.Sprintf("%d descriptors do not fit: the limit is %d", files, limit)
	}
	if processes > 1000 {
		return fmt.Sprintf("%d processes: how many fit is not known on this system", processes)
	}
	return ""
}

func cpuModel() string { return "" }

func kernel() string { return "" }

func load() string { return "" }

func limitMemory(uint64) {}

func guardiansMemory() float64 { return 0 }
