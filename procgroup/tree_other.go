//go:build !linux && !darwin && !freebsd && !windows

package procgroup

import (
	"errors"
	"os/exec"
	"runtime"
)

func startTree(*exec.Cmd, Config, string) (tree, error) {
	return nil, &StartError{What: "system", Path: runtime.GOOS, Err: errors.ErrUnsupported}
}
