package procgroup

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/stdioguard/stdioguard/internal/guardian"
)

var errNoCgroup = fmt.Errorf("no cgroup v2 here: %w", errors.ErrUnsupported)

// ownCgroup returns the directory of the control group (version 2) that this
// process is in. On a hybrid system that is below another mount point.
var ownCgroup = sync.OnceValues(func() (string, error) {
	mount, root, err := cgroupMount()
	if err != nil {
		return "", err
	}
	file, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if path, ok := strings.CutPrefix(lines.Text(), "0::"); ok {
			below, err := filepath.Rel(root, path)
			if err != nil || strings.HasPrefix(below, "..") {
				return "", errNoCgroup // the mount shows another part of the tree
			}
			dir := filepath.Join(mount, below)
			removeStale(dir)
			return dir, nil
		}
	}
	return "", errNoCgroup
})

// cgroupMount finds where version 2 is mounted, and which of its directories is
// shown there: proc_pid_mountinfo(5).
func cgroupMount() (mount, root string, err error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", "", err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if ok && strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return unescape(fields[4]), unescape(fields[3]), nil
		}
	}
	return "", "", errNoCgroup
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	for _, c := range []byte(" \t\n\\") {
		s = strings.ReplaceAll(s, fmt.Sprintf(`\%03o`, c), string(c))
	}
	return s
}

// removeStale removes what guardians left behind that were killed together with
// their hosts. A directory with a process in it cannot be removed, and one without
// whose guardian lives is about to get one.
func removeStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), guardian.CgroupPrefix)
		pid, _, ok2 := strings.Cut(rest, "-")
		if _, err := strconv.Atoi(pid); !ok || !ok2 || err != nil {
			continue
		}
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// cgroupSpec adds to a spec what the configuration says of control groups.
func (c Config) cgroupSpec(spec *guardian.Spec) error {
	if c.Cgroup == CgroupOff {
		return nil
	}
	dir, err := ownCgroup()
	spec.Cgroup = dir
	spec.RequireCgroup = c.needsCgroup()
	if c.MaxMemory > 0 {
		spec.MaxMemory = strconv.FormatInt(c.MaxMemory, 10)
	}
	if c.MaxProcesses > 0 {
		spec.MaxPids = strconv.Itoa(c.MaxProcesses)
	}
	if err != nil && spec.RequireCgroup {
		return &StartError{What: c.cgroupField(), Err: err}
	}
	return nil
}
