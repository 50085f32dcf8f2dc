//go:build !unix

package stdio

import "syscall"

// hasTerm: there is no rung between end of file and the kill.
const hasTerm = false

func signalName(sig syscall.Signal) string { return sig.String() }
