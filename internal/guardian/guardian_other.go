//go:build !linux && !darwin && !freebsd

package guardian

const (
	// Supported tells whether this system has a guardian.
	Supported = false

	// Adopts tells whether orphans of the tree come to the guardian.
	Adopts = false
)
