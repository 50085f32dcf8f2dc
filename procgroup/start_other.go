//go:build !unix

package procgroup

import "os/exec"

func jailed(*exec.Cmd) bool { return false }
