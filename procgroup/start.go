package procgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

var (
	errNil         = fmt.Errorf("is nil: %w", os.ErrInvalid)
	errNegative    = fmt.Errorf("is negative: %w", os.ErrInvalid)
	errStarted     = fmt.Errorf("was already started: %w", os.ErrInvalid)
	errForeign     = fmt.Errorf("puts the command into a group or terminal of somebody else: %w", os.ErrInvalid)
	errNUL         = fmt.Errorf("contains a NUL byte: %w", os.ErrInvalid)
	errNeedsCgroup = fmt.Errorf("needs a control group, and so a guardian: %w", os.ErrInvalid)
	errNotDir      = errors.New("is not a directory")
	errNoExec      = fmt.Errorf("is not executable: %w", fs.ErrPermission)
	errIsDir       = fmt.Errorf("is a directory: %w", fs.ErrPermission)
	errNoLoader    = fmt.Errorf("exists, but its dynamic loader does not: %w", fs.ErrNotExist)
	errExecFormat  = errors.New("is neither a program for this machine nor a script with a #! line")
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
	if cmd.Dir != "" && !jailed(cmd) {
		info, err := os.Stat(cmd.Dir)
		if err != nil {
			return &StartError{What: "directory", Path: cmd.Dir, Err: reason(err)}
		}
		if !info.IsDir() {
			return &StartError{What: "directory", Path: cmd.Dir, Err: errNotDir}
		}
	}
	for _, kv := range cmd.Env {
		if strings.Contains(kv, "\x00") {
			name, _, _ := strings.Cut(kv, "=")
			return &StartError{What: "environment variable", Path: name, Err: errNUL}
		}
	}
	return lookInChildPath(cmd)
}

// lookInChildPath finds a bare program name in the PATH that the child will have.
// exec.Command has looked in the host's, which counts only if the child's
// environment has none.
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
	if !own {
		if errors.Is(cmd.Err, exec.ErrNotFound) {
			return &StartError{What: "program", Path: name, Err: fmt.Errorf("%w %q", exec.ErrNotFound, path)}
		}
		return nil
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // as os/exec: nothing from the current directory by accident
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			cmd.Path, cmd.Err = found, nil
			return nil
		}
	}
	err := fmt.Errorf("%w of its own environment %q", exec.ErrNotFound, path)
	if hosts != "" {
		err = fmt.Errorf("%w (the host's PATH has %q)", err, hosts)
	}
	return &StartError{What: "program", Path: name, Err: err}
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
