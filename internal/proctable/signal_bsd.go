//go:build darwin || freebsd

package proctable

import "syscall"

// signalID has no handle on the process to hold: the check was a moment ago,
// and numbers are given out in a circle.
func signalID(id ID, sig syscall.Signal) error {
	if err := same(id); err != nil {
		return err
	}
	return syscall.Kill(id.PID, sig)
}
