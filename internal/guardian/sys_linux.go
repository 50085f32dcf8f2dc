package guardian

import (
	"syscall"
	"unsafe"
)

// Numbers that package syscall does not have.
const (
	sysPidfdOpen = 434 // the same on every architecture

	pollIn, pollOut       = 1, 4
	sigDefault, sigIgnore = 0, 1

	// siPid is the offset of si_pid in siginfo_t: behind three words of 32 bits
	// and, where pointers have 64, a gap.
	siPid = 12 + 4*(unsafe.Sizeof(uintptr(0))/8)
)

type pollFD struct {
	fd              int32
	events, revents int16
}

// poll reports whether any descriptor is ready within some milliseconds; -1 is for
// ever. A negative descriptor is passed over.
func poll(fds []pollFD, millis int) bool {
	var limit *syscall.Timespec
	if millis >= 0 {
		t := syscall.NsecToTimespec(int64(millis) * 1e6)
		limit = &t
	}
	n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)),
		uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	return errno == 0 && int(n) > 0
}

func pause(millis int) { poll([]pollFD{{fd: -1}}, millis) }

func clockGettime(t *syscall.Timespec) {
	const clockMonotonic = 1
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(t)), 0)
}

func pidfdOpen(pid int) int {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return -1
	}
	return int(fd) // close-on-exec by itself
}

// peek reports whether a child has ended, and leaves it a zombie.
func peek(pid int) bool {
	const pPid = 1
	info, errno := waitid(pPid, pid, wExited|wNoWait|wNoHang)
	return errno != 0 || info == pid
}

// waitAny blocks until a child has ended, and returns its pid without reaping it.
// It is -1 if there is no child.
func waitAny() int {
	const pAll = 0
	for {
		pid, errno := waitid(pAll, 0, wExited|wNoWait)
		if errno == 0 {
			return pid
		}
		if errno != syscall.EINTR {
			return -1
		}
	}
}

const wExited, wNoWait, wNoHang = 4, 0x01000000, 1

func waitid(kind, id, options int) (pid int, errno syscall.Errno) {
	var info [128]byte // siginfo_t
	_, _, errno = syscall.Syscall6(syscall.SYS_WAITID, uintptr(kind), uintptr(id),
		uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
	return int(get32(info[siPid:])), errno
}

// unblock lets a signal reach this thread.
func unblock(sig syscall.Signal) {
	const sigUnblock = 1
	set := uint64(1) << (uint(sig) - 1)
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigUnblock, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
}

// ignored tells whether a signal was ignored before this process began: that goes
// through execve, and the Go runtime heeds it for some.
func ignored(sig syscall.Signal) bool {
	var action struct {
		handler, flags, restorer uintptr
		mask                     [2]uint64
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
	return errno == 0 && action.handler == sigIgnore
}

// setHandler bypasses the Go runtime, which has its own handlers in place.
func setHandler(sig syscall.Signal, handler uintptr) {
	action := struct {
		handler, flags, restorer uintptr
		mask                     [2]uint64
	}{handler: handler}
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
}
