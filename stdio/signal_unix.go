//go:build unix

package stdio

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// hasTerm: there is a rung between end of file and the kill.
const hasTerm = true

func signalName(sig syscall.Signal) string { return unix.SignalName(sig) }
