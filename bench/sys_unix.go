//go:build unix

package main

import (
	"os"
	"syscall"
)

// terminal signals end a run, and so does the end of what started it.
var endSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup refuses the numbers that mean more than one group to kill(2).
func killGroup(pgid int) error {
	if pgid <= 1 {
		return syscall.EINVAL
	}
	return syscall.Kill(-pgid, syscall.SIGKILL)
}

// openFiles is the limit of descriptors, or 0 where it is not known.
func openFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30))
}

// descriptors counts those of this process.
func descriptors() (int, error) {
	entries, err := os.ReadDir("/dev/fd")
	return len(entries), err
}
