//go:build darwin || freebsd

package procgroup

import "os/exec"

func startTree(cmd *exec.Cmd, c Config, token string) (tree, error) {
	if err := prepare(cmd, c.KeepTerminal); err != nil {
		return nil, err
	}
	return startDirect(cmd, c, token)
}
