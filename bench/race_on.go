//go:build race

package main

// raceDetector reserves more memory than a starved host may have.
const raceDetector = true
