package stdio

import "golang.org/x/sys/unix"

// wideBytes is the size of the pipe of a server that sends long lines: with four
// times the usual 64 KiB the two sides wait for each other less, and with still
// more the data would leave the processor's cache on the way.
const wideBytes = 256 << 10

// widen makes the pipe hold more. That it fails is no loss: an unprivileged user
// may not have more than so much in all pipes (pipe(7), pipe-user-pages-soft).
func (o *outlet) widen() {
	raw, err := o.f.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) { // and not Fd, which ends the deadlines
		unix.FcntlInt(fd, unix.F_SETPIPE_SZ, wideBytes)
	})
}
