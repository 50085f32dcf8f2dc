// Package executable knows whether this process can be run again as another one: as
// the guardian of a server, or as the janitor of a test binary.
package executable

import (
	"runtime/debug"
	"slices"
)

// StandsAlone reports whether this process is a program of its own, and not a library
// in somebody else's, which would be run in its place.
func StandsAlone() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-buildmode" && s.Value != "exe" && s.Value != "pie"
	})
}
