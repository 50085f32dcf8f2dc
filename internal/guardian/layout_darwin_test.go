package guardian

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout is that of x/sys. To compile this is the test: a constant that
// differs is an index out of range.
func TestLayoutOfKinfoProc(*testing.T) {
	const at = unsafe.Offsetof(unix.KinfoProc{}.Eproc)
	type k = unix.KinfoProc
	_ = [1]int{}[unsafe.Sizeof(k{})-rowSize]
	_ = [1]int{}[unsafe.Offsetof(k{}.Proc)+unsafe.Offsetof(unix.ExternProc{}.P_starttime)-rowStart]
	_ = [1]int{}[unsafe.Offsetof(k{}.Proc)+unsafe.Offsetof(unix.ExternProc{}.P_stat)-rowStat]
	_ = [1]int{}[unsafe.Offsetof(k{}.Proc)+unsafe.Offsetof(unix.ExternProc{}.P_pid)-rowPid]
	_ = [1]int{}[at+unsafe.Offsetof(unix.Eproc{}.Ppid)-rowParent]
	_ = [1]int{}[at+unsafe.Offsetof(unix.Eproc{}.Pgid)-rowGroup]
	_ = [1]int{}[unix.LOCAL_PEERPID-2+unix.SOL_LOCAL]
	_ = [1]int{}[unix.CTL_KERN-1]
}
