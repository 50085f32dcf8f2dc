package procgroup

import (
	"os"
	"path/filepath"
	"syscall"
)

// selfPath is our own program, also where its file was deleted or replaced.
func selfPath() string { return "/proc/self/exe" }

// fightsHere looks at what SysProcAttr has on this system alone.
func fightsHere(attr *syscall.SysProcAttr) string {
	for name, set := range map[string]bool{
		"Pdeathsig": attr.Pdeathsig != 0, "Cloneflags": attr.Cloneflags != 0,
		"Unshareflags": attr.Unshareflags != 0, "PidFD": attr.PidFD != nil, "UseCgroupFD": attr.UseCgroupFD,
		"UidMappings": len(attr.UidMappings) > 0, "GidMappings": len(attr.GidMappings) > 0, "AmbientCaps": len(attr.AmbientCaps) > 0,
	} {
		if set {
			return name
		}
	}
	return ""
}

// killCgroup does what its guardian would have done.
func killCgroup(dir string) {
	if dir != "" {
		os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	}
}

// socketpair returns the host's end, which has deadlines, and the guardian's.
func socketpair() (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	// The guardian reads in plain system calls.
	if err := syscall.SetNonblock(fds[1], false); err != nil {
		syscall.Close(fds[0])
		syscall.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "guardian"), os.NewFile(uintptr(fds[1]), "guardian"), nil
}
