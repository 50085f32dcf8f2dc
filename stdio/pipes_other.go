//go:build !windows

package stdio

import (
	"errors"
	"os"
	"syscall"
)

// outletPipe returns a pipe for what a server writes: our end, and the server's.
func outletPipe() (ours, child *os.File, err error) { return os.Pipe() }

// isBroken tells of an error of Write that nobody can read from the pipe any more.
func isBroken(err error) bool { return errors.Is(err, syscall.EPIPE) }
