package proctable

import (
	"encoding/binary"
	"fmt"
)

// The layout of struct kinfo_proc, sys/user.h of FreeBSD, is one and the same on
// all its 64-bit machines. The 32-bit ones have others, of other sizes.
const (
	kiSize  = 1088 // KINFO_PROC_SIZE
	kiPid   = 72
	kiPpid  = 76
	kiPgid  = 80
	kiSid   = 88
	kiStart = 336 // two 64-bit words: seconds, microseconds
	kiFlag  = 368
	kiStat  = 388
	kiComm  = 447
	kiEnd   = kiComm + 20
)

const flagKproc = 0x4 // P_KPROC of sys/proc.h

// parseKinfo decodes the rows of sysctl kern.proc. boot, in microseconds since
// 1970, is subtracted from the start times: the kernel adds it to what it really
// keeps, the time since boot, and moves it whenever the clock is set. A start
// that moves would be no identity.
func parseKinfo(raw []byte, boot uint64) ([]Process, error) {
	all := make([]Process, 0, len(raw)/kiSize)
	for len(raw) > 0 {
		if len(raw) < kiSize {
			return nil, fmt.Errorf("%w: %d bytes left over behind %d rows", ErrIncomplete, len(raw), len(all))
		}
		row := raw[:kiSize]
		if size := kiInt(row, 0); size != kiSize {
			return nil, fmt.Errorf("%w: rows of %d bytes, want %d", ErrIncomplete, size, kiSize)
		}
		start := binary.NativeEndian.Uint64(row[kiStart:])*1e6 + binary.NativeEndian.Uint64(row[kiStart+8:])
		all = append(all, Process{
			PID:    kiInt(row, kiPid),
			PPID:   kiInt(row, kiPpid),
			PGID:   kiInt(row, kiPgid),
			SID:    kiInt(row, kiSid),
			State:  kiState(row[kiStat]),
			Start:  start - min(boot, start),
			kernel: binary.NativeEndian.Uint64(row[kiFlag:])&flagKproc != 0,
		})
		raw = raw[kiSize:]
	}
	return all, nil
}

func kiInt(row []byte, at int) int {
	return int(int32(binary.NativeEndian.Uint32(row[at:])))
}

// kiState translates SIDL to SLOCK of sys/proc.h.
func kiState(stat byte) State {
	switch stat {
	case 1, 2:
		return Running
	case 3, 6, 7:
		return Sleeping
	case 4:
		return Stopped
	case 5:
		return Zombie
	}
	return Unknown
}
