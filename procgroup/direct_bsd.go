//go:build darwin || freebsd

package procgroup

import (
	"errors"
	"os/exec"
)

func startTree(cmd *exec.Cmd, c Config, token string) (tree, error) {
	if err := prepare(cmd, c.KeepTerminal); err != nil {
		return nil, err
	}
	if c.needsCgroup() {
		return nil, &StartError{What: c.cgroupField(), Err: errors.ErrUnsupported}
	}
	return startDirect(cmd, token, "there is none for this system yet")
}
