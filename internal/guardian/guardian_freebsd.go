package guardian

import (
	"syscall"
	"unsafe"
)

const (
	// Supported tells whether this system has a guardian. The layouts here are
	// those of the 64-bit machines.
	Supported = unsafe.Sizeof(uintptr(0)) == 8

	// Adopts tells whether orphans of the tree come to the guardian, so that none
	// can get away from it.
	Adopts = true

	msgNoSignal = syscall.MSG_NOSIGNAL
)

type system struct {
	queue
	orphanage
}

// madeBy tells whether the socket was made by that process. The kernel writes
// down its pid at socketpair(2), since FreeBSD 13: unix(4), struct xucred.
func madeBy(fd, pid int) bool {
	const solLocal, localPeercred = 0, 1
	const size, pidAt = 88, 80
	var cred [size]byte
	length := uint32(size)
	_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), solLocal, localPeercred,
		uintptr(unsafe.Pointer(&cred)), uintptr(unsafe.Pointer(&length)), 0)
	return errno == 0 && length == size && int(get32(cred[pidAt:])) == pid
}

// prepare fails where anything that is needed later does not answer as expected:
// then the host does without a guardian.
func (g *guard) prepare() error {
	if err := procctl(procReapAcquire, nil); err != nil {
		return err
	}
	var status reaperStatus
	if err := procctl(procReapStatus, unsafe.Pointer(&status)); err != nil {
		return err
	}
	if !status.isEmptyReaper(syscall.Getpid()) {
		return syscall.ENOSYS
	}
	if _, errno := wait6(pAll, 0, syscall.WEXITED|syscall.WNOWAIT|syscall.WNOHANG); errno != syscall.ECHILD {
		return syscall.ENOSYS
	}
	if err := g.openQueue(); err != nil {
		return err
	}
	if err := syscall.Pipe2(g.exited[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	return g.subscribe(g.exited[0], syscall.EVFILT_READ, syscall.EV_ONESHOT, 0)
}

func (g *guard) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid:    !g.spec.KeepTerminal,
		Setpgid:   g.spec.KeepTerminal,
		Pdeathsig: syscall.SIGKILL,
	}
}

// strike kills all descendants by one call, and those who are being born: the
// kernel goes on until it finds nobody new.
func (g *guard) strike() {
	request := reaperKill{sig: int32(syscall.SIGKILL)}
	procctl(procReapKill, unsafe.Pointer(&request))
}

// children returns those of this process, zombies included.
func (*guard) children() []int { return reaperPids(pidinfoChild) }

// descendants returns the tree of this process.
func (*guard) descendants() []int { return reaperPids(0) }

// untilLook and look serve systems on which the tree gets away.
func (*guard) untilLook() int { return -1 }
func (*guard) look()          {}

// reaperPids lists the descendants that have a flag.
func reaperPids(flag uint32) []int {
	var status reaperStatus
	if procctl(procReapStatus, unsafe.Pointer(&status)) != nil {
		return nil
	}
	for room := int(status.descendants) + 16; ; room *= 2 {
		list := make([]reaperPidinfo, room)
		request := reaperGetpids{count: uint32(room), list: &list[0]}
		if procctl(procReapGetpids, unsafe.Pointer(&request)) != nil {
			return nil
		}
		if pids, full := filled(list, flag); !full {
			return pids
		}
	}
}

// The commands of procctl(2), and what the kernel reads and writes with them.
const (
	procReapAcquire = 2
	procReapStatus  = 4
	procReapGetpids = 5
	procReapKill    = 6
)

type reaperGetpids struct {
	count uint32
	_     [15]uint32
	list  *reaperPidinfo
}

type reaperKill struct {
	sig             int32
	flags           uint32
	subtree         int32
	killed          uint32
	firstNotAllowed int32
	_               [15]uint32
}

func procctl(command uintptr, data unsafe.Pointer) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_PROCCTL, pPid, uintptr(syscall.Getpid()), command, uintptr(data), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// The kinds of ids of procctl and wait6(2).
const pPid, pAll = 0, 7

// peek reports whether a child has ended, and leaves it a zombie.
func peek(pid int) bool {
	got, errno := wait6(pPid, pid, syscall.WEXITED|syscall.WNOWAIT|syscall.WNOHANG)
	return errno != 0 && errno != syscall.EINTR || got == pid
}

// waitAny blocks until a child has ended, and returns its pid without reaping it.
// It is -1 if there is no child.
func waitAny() int {
	for {
		pid, errno := wait6(pAll, 0, syscall.WEXITED|syscall.WNOWAIT)
		if errno == 0 {
			return pid
		}
		if errno != syscall.EINTR {
			return -1
		}
	}
}

func wait6(kind, id, options int) (pid int, errno syscall.Errno) {
	var status int32
	got, _, errno := syscall.Syscall6(syscall.SYS_WAIT6, uintptr(kind), uintptr(id),
		uintptr(unsafe.Pointer(&status)), uintptr(options), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(got), 0
}

func clockGettime(t *syscall.Timespec) {
	const clockMonotonic = 4
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(t)), 0)
}

// openFiles returns the number of open descriptors, by sysctl kern.proc.nfds, or
// a large one where the kernel does not tell.
func openFiles() int {
	const ctlKern, kernProc, kernProcNfds = 1, 14, 43
	name := [...]int32{ctlKern, kernProc, kernProcNfds, 0}
	var count int32
	length := unsafe.Sizeof(count)
	_, _, errno := syscall.Syscall6(syscall.SYS___SYSCTL, uintptr(unsafe.Pointer(&name)), uintptr(len(name)),
		uintptr(unsafe.Pointer(&count)), uintptr(unsafe.Pointer(&length)), 0, 0)
	if errno != 0 || count <= 0 {
		return mostFiles
	}
	return int(count)
}

// sigaction is struct sigaction of sys/signal.h.
type sigaction struct {
	handler uintptr
	flags   int32
	mask    [4]uint32
}
