package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasUnread reports whether something that was written to a pipe has not been
// read yet. Linux tells that at the writer's end, too (ioctl_tty(2), TIOCINQ; pipe(7)).
func hasUnread(pipe *os.File) bool {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return err == nil && n > 0
}
