//go:build freebsd && (amd64 || arm64 || riscv64)

package guardian

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// To compile this is the test: a constant that differs is an index out of range.
func TestLayouts(*testing.T) {
	_ = [1]int{}[unsafe.Sizeof(unix.Xucred{})-88]
	_ = [1]int{}[unix.LOCAL_PEERCRED-1+unix.SOL_LOCAL]
	_ = [1]int{}[unsafe.Sizeof(reaperKill{})-80]
	_ = [1]int{}[unsafe.Offsetof(reaperKill{}.firstNotAllowed)-16]
	_ = [1]int{}[unsafe.Sizeof(reaperGetpids{})-72]
	_ = [1]int{}[unsafe.Offsetof(reaperGetpids{}.list)-64]
	_ = [1]int{}[unix.CLOCK_MONOTONIC-4]
}
