//go:build !linux

package guardian

// Supported tells whether this system has a guardian.
const Supported = false
