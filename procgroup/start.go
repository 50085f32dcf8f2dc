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
	"strings"
	"syscall"
)

var (
	errNil        = fmt.Errorf("is nil: %w", os.ErrInvalid)
	errNegative   = fmt.Errorf("is negative: %w", os.ErrInvalid)
	errStarted    = fmt.Errorf("was already started: %w", os.ErrInvalid)
	errForeign    = fmt.Errorf("puts the command into a group or terminal of somebody else: %w", os.ErrInvalid)
	errNotDir     = errors.New("is not a directory")
	errNoExec     = fmt.Errorf("is not executable: %w", fs.ErrPermission)
	errIsDir      = fmt.Errorf("is a directory: %w", fs.ErrPermission)
	errNoLoader   = fmt.Errorf("exists, but its dynamic loader does not: %w", fs.ErrNotExist)
	errExecFormat = errors.New("is neither a program for this machine nor a script with a #! line")
)

// StartError says why a command was not started. Nothing runs then.
type StartError struct {
	// What is at fault: "command", "directory", "program", "interpreter",
	// "SysProcAttr", "context", the name of a Config field, "job object"
	// (Windows), or "system": one that this package does not support.
	What string
	// Path is what was looked for, or the refused value.
	Path string
	// Err is the reason. errors.Is finds fs.ErrNotExist, fs.ErrPermission,
	// exec.ErrNotFound, os.ErrInvalid, errors.ErrUnsupported or the system's own error in it.
	Err error
}

func (e *StartError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("procgroup: %s %v", e.What, e.Err)
	}
	return fmt.Sprintf("procgroup: %s %q %v", e.What, e.Path, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// resolve checks the directory and finds the program before anything starts.
//
// The directory comes first: the kernel answers ENOENT for it and for the
// program alike, and os/exec then blames the program (golang/go#20285).
func resolve(cmd *exec.Cmd) error {
	if cmd.Dir != "" {
		info, err := os.Stat(cmd.Dir)
		if err != nil {
			return &StartError{What: "directory", Path: cmd.Dir, Err: reason(err)}
		}
		if !info.IsDir() {
			return &StartError{What: "directory", Path: cmd.Dir, Err: errNotDir}
		}
	}
	return lookInChildPath(cmd)
}

// lookInChildPath finds a bare program name in the PATH that the child will
// have. exec.Command has looked in the host's; what it found there stays where
// the child's PATH does not have the program.
func lookInChildPath(cmd *exec.Cmd) error {
	if len(cmd.Args) == 0 || !bare(cmd.Args[0]) {
		return nil
	}
	name := cmd.Args[0]
	hosts, _ := exec.LookPath(name)
	if !errors.Is(cmd.Err, exec.ErrNotFound) && cmd.Path != hosts {
		return nil // the caller has set Path: Args[0] is only what the program sees
	}
	path, own := pathOf(cmd)
	if own {
		for _, dir := range filepath.SplitList(path) {
			if !filepath.IsAbs(dir) {
				continue // as os/exec: nothing from the current directory by accident
			}
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				cmd.Path, cmd.Err = found, nil
				return nil
			}
		}
	}
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		return &StartError{What: "program", Path: name, Err: fmt.Errorf("%w %q", exec.ErrNotFound, path)}
	}
	return nil
}

func bare(name string) bool {
	return name != "" && filepath.Base(name) == name && name != "." && name != ".."
}

// pathOf returns the PATH that the program is looked up in, and whether it is
// one that the command brings itself.
func pathOf(cmd *exec.Cmd) (path string, own bool) {
	for _, kv := range cmd.Env {
		k, v, _ := strings.Cut(kv, "=")
		if k == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(k, "PATH") {
			path, own = v, true // the last one counts, as in os/exec
		}
	}
	if !own {
		path = os.Getenv("PATH")
	}
	return path, own
}

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
	fault := &StartError{What: "program", Path: path, Err: reason(err)}
	info, statErr := os.Stat(path)
	switch {
	case path == "" || cmd.Err != nil || statErr != nil:
		return fault
	case info.IsDir():
		fault.Err = errIsDir
		return fault
	case runtime.GOOS == "windows":
		return fault // no mode bits, no first line, and the system's words are of the program
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
	return fault
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

// reason strips the operation and the path that the message already has.
func reason(err error) error {
	var pathErr *fs.PathError
	var lookErr *exec.Error
	switch {
	case errors.As(err, &pathErr):
		return pathErr.Err
	case errors.As(err, &lookErr):
		return lookErr.Err
	}
	return err
}
