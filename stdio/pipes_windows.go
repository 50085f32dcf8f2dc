package stdio

import (
	"crypto/rand"
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// outletBuffer is how much a server may write before it has to wait, as elsewhere.
const outletBuffer = 64 << 10

// outletPipe returns a pipe for what a server writes: our end, and the server's.
//
// Those of os.Pipe have no deadlines here, so ours is the end of a named pipe that was
// opened for overlapped I/O. The server's is an ordinary one, as programs expect it.
// [CreateNamedPipe] tells what the flags mean: nobody else may have made the name,
// nobody may come in from another machine, and there is one instance, so that whoever
// came in before us would make our own opening fail.
//
// [CreateNamedPipe]: https://learn.microsoft.com/en-us/windows/win32/api/namedpipeapi/nf-namedpipeapi-createnamedpipew
func outletPipe() (ours, child *os.File, err error) {
	path := `\\.\pipe\stdioguard-` + rand.Text()
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, nil, err
	}
	const access = windows.PIPE_ACCESS_INBOUND | windows.FILE_FLAG_OVERLAPPED | windows.FILE_FLAG_FIRST_PIPE_INSTANCE
	const mode = windows.PIPE_TYPE_BYTE | windows.PIPE_READMODE_BYTE | windows.PIPE_WAIT | windows.PIPE_REJECT_REMOTE_CLIENTS
	h, err := windows.CreateNamedPipe(name, access, mode, 1, outletBuffer, outletBuffer, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	w, err := windows.CreateFile(name, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		windows.CloseHandle(h)
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(uintptr(h), path), os.NewFile(uintptr(w), path), nil
}

// isBroken tells of an error of Write that nobody can read from the pipe any more: while
// its other end is being closed, or since.
func isBroken(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE)
}
