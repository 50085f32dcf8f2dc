package proctable

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// signalID holds the process by a pidfd while its identity is checked.
func signalID(id ID, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if lookErr := same(id); lookErr != nil {
		return lookErr
	}
	if err == nil {
		return unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	// No descriptor to be had. The check was a moment ago, and numbers are
	// given out in a circle.
	return unix.Kill(id.PID, sig)
}
