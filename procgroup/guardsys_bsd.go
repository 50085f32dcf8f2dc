//go:build darwin || freebsd

package procgroup

import (
	"errors"
	"os"
	"syscall"

	"github.com/stdioguard/stdioguard/internal/guardian"
)

// program is the file that this process was started from, as it was then: there
// is no name here that means it and not its successor.
var program = func() (p struct {
	path string
	info os.FileInfo
}) {
	if path, err := os.Executable(); err == nil {
		p.path = path
		p.info, _ = os.Stat(path)
	}
	return p
}()

// selfPath is our own program, or "" where its file has been deleted or replaced:
// another one might not know that it is to be a guardian.
func selfPath() string {
	then := program.info
	now, err := os.Stat(program.path)
	if then == nil || err != nil || !os.SameFile(then, now) ||
		!then.ModTime().Equal(now.ModTime()) || then.Size() != now.Size() {
		return ""
	}
	return program.path
}

// killCgroup: there are no control groups.
func killCgroup(string) {}

// cgroupSpec refuses what needs a control group.
func (c Config) cgroupSpec(*guardian.Spec) error {
	if c.needsCgroup() {
		return &StartError{What: c.cgroupField(), Err: errors.ErrUnsupported}
	}
	return nil
}

// socketpair returns the host's end, which has deadlines, and the guardian's.
func socketpair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	// The guardian's end stays as it is: it reads in plain system calls.
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		syscall.Close(fds[0])
		syscall.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "guardian"), os.NewFile(uintptr(fds[1]), "guardian"), nil
}
