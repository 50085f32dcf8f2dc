package procgroup

import "syscall"

// fightsHere looks at what SysProcAttr has on this system alone.
func fightsHere(attr *syscall.SysProcAttr) string {
	switch {
	case attr.Pdeathsig != 0:
		return "Pdeathsig"
	case attr.Jail != 0:
		return "Jail"
	}
	return ""
}
