package proctable

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

func list() ([]Process, error) {
	all, err := readKinfo("kern.proc.proc")
	if err != nil && !errors.Is(err, ErrIncomplete) {
		err = fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	return all, err
}

func lookup(pid int) (Process, error) {
	rows, err := readKinfo("kern.proc.pid", pid)
	switch {
	case errors.Is(err, unix.ESRCH), err == nil && len(rows) == 0:
		return Process{}, ErrNoProcess
	case err != nil:
		return Process{}, err
	}
	return rows[0], nil
}

// readKinfo reads the rows between two looks at the time of boot, which the
// kernel has added to their start times, and again where it has moved.
func readKinfo(name string, args ...int) ([]Process, error) {
	for {
		before, err := bootTime()
		if err != nil {
			return nil, err
		}
		raw, err := sysctl(name, args...)
		if err != nil {
			return nil, err
		}
		after, err := bootTime()
		if err != nil {
			return nil, err
		}
		if before == after {
			return parseKinfo(raw, before)
		}
	}
}

func bootTime() (uint64, error) {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return 0, fmt.Errorf("sysctl kern.boottime: %w", err)
	}
	return uint64(tv.Sec)*1e6 + uint64(tv.Usec), nil
}

// sysctl asks again where the answer has outgrown its buffer. The kernel leaves
// room for a few new processes only, so a fork storm can win that race often;
// not without end, for a table is no use when it comes late.
func sysctl(name string, args ...int) ([]byte, error) {
	for tries := 1; ; tries++ {
		raw, err := unix.SysctlRaw(name, args...)
		if err == nil {
			return raw, nil
		}
		if !errors.Is(err, unix.ENOMEM) || tries == 32 {
			return nil, fmt.Errorf("sysctl %s: %w", name, err)
		}
	}
}

func argv(pid int) []string {
	raw, err := sysctl("kern.proc.args", pid)
	if args := splitArgs(string(raw)); err == nil && args != nil {
		return args
	}
	raw, err = sysctl("kern.proc.pid", pid)
	if err != nil || len(raw) < kiEnd {
		return nil
	}
	return []string{"[" + unix.ByteSliceToString(raw[kiComm:kiEnd]) + "]"}
}

func environment(p Process) (string, Carries, error) {
	raw, err := sysctl("kern.proc.env", p.PID)
	switch {
	case errors.Is(err, unix.EBUSY):
		return "", Unsure, nil // inside execve
	case err != nil:
		return "", No, nil // ended meanwhile, or of another user
	}
	return string(raw), shows(string(raw)), nil
}

// startTime adds the time of boot of now, not of then: it follows the clock as
// everything else does that is shown to people.
func startTime(start uint64) time.Time {
	boot, err := bootTime()
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(boot + start))
}
