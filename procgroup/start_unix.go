//go:build unix

package procgroup

import "os/exec"

// jailed: paths are those of another root.
func jailed(cmd *exec.Cmd) bool { return cmd.SysProcAttr != nil && cmd.SysProcAttr.Chroot != "" }
