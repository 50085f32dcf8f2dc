package procgroup

import "syscall"

// fightsHere: SysProcAttr has nothing on this system alone.
func fightsHere(*syscall.SysProcAttr) string { return "" }
