package procgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// explain names the true culprit behind the error of exec.Cmd.Start. It looks
// only after the failure: a check before it would be outdated when it counts.
func explain(cmd *exec.Cmd, err error) error {
	var known *StartError
	if errors.As(err, &known) {
		return err
	}
	path := cmd.Path
	if cmd.Dir != "" && !filepath.IsAbs(path) {
		path = filepath.Join(cmd.Dir, path) // the kernel resolves it there
	}
	if cmd.Path == "" {
		return &StartError{What: "program", Err: fmt.Errorf("has no name: %w", os.ErrInvalid)}
	}
	fault := &StartError{What: "program", Path: path, Err: reason(err)}
	switch {
	case cmd.Err != nil:
		return fault
	case !blamesProgram(err):
		return fmt.Errorf("procgroup: start %q: %w", path, fault.Err)
	case runtime.GOOS != "windows": // where there are no mode bits and no first line
		fault.inspect(err)
	}
	return fault
}

// blamesProgram tells errors that are about the program from those that are about
// the host or the attributes: too many processes or descriptors, no permission to
// change the user.
func blamesProgram(err error) bool {
	const badExeFormat = 193 // ERROR_BAD_EXE_FORMAT of Windows
	if runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(badExeFormat)) {
		return true
	}
	return slices.ContainsFunc([]error{
		fs.ErrNotExist, fs.ErrPermission, syscall.ENOEXEC, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG,
	}, func(target error) bool { return errors.Is(err, target) })
}

// inspect looks at the file that could not be executed.
func (fault *StartError) inspect(err error) {
	path := fault.Path
	info, statErr := os.Stat(path)
	switch {
	case statErr != nil:
		return
	case info.IsDir():
		fault.Err = errIsDir
		return
	case !info.Mode().IsRegular():
		return // nothing to be read here: a FIFO would not even open
	}
	switch interpreter := shebang(path); {
	case errors.Is(err, fs.ErrNotExist) && interpreter == "":
		fault.Err = errNoLoader
	case errors.Is(err, fs.ErrNotExist):
		fault.What, fault.Path = "interpreter", interpreter
		fault.Err = fmt.Errorf("named in the first line of %q: %w", path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission) && info.Mode().Perm()&0o111 == 0:
		fault.Err = fmt.Errorf("%w (mode %v)", errNoExec, info.Mode())
	case errors.Is(err, fs.ErrPermission) && interpreter != "":
		fault.Err = fmt.Errorf("%w (or its interpreter %q is not)", errNoExec, interpreter)
	case errors.Is(err, syscall.ENOEXEC):
		fault.Err = fmt.Errorf("%w: %w", errExecFormat, syscall.ENOEXEC)
	}
}

// shebang returns the interpreter that a script names, or "".
func shebang(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n') // the kernel reads 256 bytes
	rest, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return ""
	}
	// A carriage return is part of the name to the kernel: show it.
	fields := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}
