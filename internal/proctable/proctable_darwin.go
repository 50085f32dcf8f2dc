package proctable

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// The values of p_stat in sys/proc.h that say more than "exists". XNU keeps the
// running and the sleeping apart per thread only: both are SRUN here.
const (
	sRun  = 2
	sStop = 4
	sZomb = 5
)

func list() ([]Process, error) {
	rows, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("%w: sysctl kern.proc.all: %w", ErrIncomplete, err)
	}
	all := make([]Process, len(rows))
	for i := range rows {
		all[i] = fromKinfo(&rows[i])
	}
	return all, nil
}

func lookup(pid int) (Process, error) {
	row, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) {
		return Process{}, ErrNoProcess // the answer is no row, which x/sys calls a wrong size
	}
	if err != nil {
		return Process{}, fmt.Errorf("sysctl kern.proc.pid: %w", err)
	}
	return fromKinfo(row), nil
}

func fromKinfo(k *unix.KinfoProc) Process {
	p := Process{
		PID:    int(k.Proc.P_pid),
		PPID:   int(k.Eproc.Ppid),
		PGID:   int(k.Eproc.Pgid),
		State:  Unknown,
		Start:  uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		kernel: k.Proc.P_pid == 0,
	}
	switch k.Proc.P_stat {
	case sRun:
		p.State = Running
	case sStop:
		p.State = Stopped
	case sZomb:
		p.State = Zombie
		return p // getsid does not know it any more
	}
	// The row has a pointer in the place of the session, and the kernel blanks it.
	p.SID, _ = unix.Getsid(p.PID)
	return p
}

func argv(pid int) []string {
	if raw, err := unix.SysctlRaw("kern.procargs2", pid); err == nil {
		if args, _, _ := splitProcargs(raw); args != nil {
			return args
		}
	}
	row, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return nil
	}
	return []string{"[" + unix.ByteSliceToString(row.Proc.P_comm[:]) + "]"}
}

func environment(p Process) (string, Carries, error) {
	raw, err := unix.SysctlRaw("kern.procargs2", p.PID)
	switch {
	case errors.Is(err, unix.EIO):
		return "", Unsure, nil // inside execve: the place of the old stack is not mapped in the new program
	case err != nil:
		return "", No, nil // ended meanwhile, or of another user
	}
	environ, shown := environInProcargs(raw)
	return environ, shown, nil
}

// startTime takes the microseconds since 1970 of fromKinfo.
func startTime(start uint64) time.Time {
	if start == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(start))
}
