package servers

import (
	"io/fs"
	"os"
	"syscall"
)

// WriteProgram writes a file that can be executed at once, whatever other goroutines
// do. After os.WriteFile that may fail with ETXTBSY: a child that somebody forks in
// the meantime has the file open for writing until its own execve (golang/go#22315).
func WriteProgram(path string, content []byte, mode fs.FileMode) error {
	if err := writeUnforked(path, content); err != nil {
		return err
	}
	return os.Chmod(path, mode) // exactly, whatever the umask is
}

// writeUnforked lets nobody fork while the file is open.
func writeUnforked(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o600)
}
