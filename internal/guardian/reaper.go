package guardian

// What procctl(2) of FreeBSD tells a reaper of its descendants: sys/procctl.h.

const (
	statusOwned  = 1 // the reaper is the process that asks
	pidinfoValid = 1 // the kernel has filled the entry
	pidinfoChild = 2 // and its process is a child of the reaper
)

type reaperStatus struct {
	flags, children, descendants uint32
	reaper, first                int32
	_                            [15]uint32
}

type reaperPidinfo struct {
	pid, subtree int32
	flags        uint32
	_            [15]uint32
}

// isEmptyReaper tells whether that is the status of a reaper without a child.
func (s reaperStatus) isEmptyReaper(pid int) bool {
	return s.flags&statusOwned != 0 && int(s.reaper) == pid && s.first == -1 && s.descendants == 0
}

// filled returns the pids of the entries with a flag. It is full if there may
// have been more.
func filled(list []reaperPidinfo, flag uint32) (pids []int, full bool) {
	for _, entry := range list {
		if entry.flags&pidinfoValid == 0 {
			return pids, false
		}
		if entry.flags&flag == flag {
			pids = append(pids, int(entry.pid))
		}
	}
	return pids, true
}
