//go:build !linux

package leakcheck

import "github.com/stdioguard/stdioguard/internal/proctable"

// janitor is not to be had here: what a test binary that panics leaves, stays.
var janitor none

type none struct{}

func (none) engage()              {}
func (none) is(proctable.ID) bool { return false }
func (none) spare(proctable.ID)   {}
func (none) dismiss()             {}

// adoptsOrphans tells whether orphans of others come to this process as children.
func adoptsOrphans(self int) bool { return self == 1 }
