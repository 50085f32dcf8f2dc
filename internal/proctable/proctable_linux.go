package proctable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of the start time in /proc/PID/stat. The kernel fixes
// it at 100 for user space on every architecture that Go runs on.
const clockTick = time.Second / 100

// flagKthread is PF_KTHREAD of include/linux/sched.h.
const flagKthread = 0x00200000

func list() ([]Process, error) {
	// The numbers in /proc are those of the pid namespace it was mounted for.
	// In a namespace of our own over somebody else's /proc every row would be
	// that of a stranger.
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	if self != strconv.Itoa(os.Getpid()) {
		return nil, fmt.Errorf("%w: /proc calls this process %s, but its pid is %d", ErrIncomplete, self, os.Getpid())
	}

	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIncomplete, err)
	}

	all := make([]Process, 0, len(names))
	hidden := true
	var buf [1024]byte
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, err := readStat(pid, buf[:])
		if errors.Is(err, ErrNoProcess) {
			continue // it ended between the directory and the file
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrIncomplete, err)
		}
		all = append(all, p)
		hidden = hidden && pid != 1
	}
	if hidden {
		return all, fmt.Errorf("%w: /proc hides processes of other users (hidepid)", ErrIncomplete)
	}
	return all, nil
}

func lookup(pid int) (Process, error) {
	var buf [1024]byte
	return readStat(pid, buf[:])
}

// readStat uses plain system calls: a table of a thousand rows is read many
// times, and os.File costs more than the kernel's part.
func readStat(pid int, buf []byte) (Process, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	fd, err := openRetry(path)
	if err != nil {
		return Process{}, procErr(path, err)
	}
	defer syscall.Close(fd)
	n, err := readOnce(fd, buf)
	if err != nil {
		return Process{}, procErr(path, err)
	}
	p, err := parseStat(buf[:n])
	if err != nil {
		return Process{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// procErr folds the two ways in which /proc says "gone" into one: ENOENT for
// a directory that is no more, ESRCH for one that went while open.
func procErr(path string, err error) error {
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ESRCH) {
		return ErrNoProcess
	}
	return &fs.PathError{Op: "read", Path: path, Err: err}
}

func openRetry(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// readOnce reads with one system call what fits buf. The kernel makes such a file when
// it is read, and a second call would only tell that there is no more.
func readOnce(fd int, buf []byte) (int, error) {
	for {
		n, err := syscall.Pread(fd, buf, 0)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

var errStat = errors.New("malformed stat line")

// parseStat reads a line of proc_pid_stat(5). The second field is the program
// name in parentheses and may itself hold spaces, newlines and parentheses,
// so the fixed fields begin behind the last closing one.
func parseStat(line []byte) (Process, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 2 || end < open {
		return Process{}, errStat
	}
	pid, err := strconv.Atoi(string(line[:open-1]))
	if err != nil {
		return Process{}, errStat
	}
	// Fields counted from the third of the manual page: state is 0.
	const (
		state, ppid, pgrp, session = 0, 1, 2, 3
		flags, threads, starttime  = 6, 17, 19
	)
	var field [starttime + 1]string
	rest := string(line[end+1:])
	i := 0
	for f := range strings.FieldsSeq(rest) {
		if i == len(field) {
			break
		}
		field[i] = f
		i++
	}
	if i < len(field) || len(field[state]) != 1 {
		return Process{}, errStat
	}
	p := Process{PID: pid, State: stateOf(field[state][0])}
	for _, f := range []struct {
		into  *int
		index int
	}{{&p.PPID, ppid}, {&p.PGID, pgrp}, {&p.SID, session}} {
		if *f.into, err = strconv.Atoi(field[f.index]); err != nil {
			return Process{}, errStat
		}
	}
	if p.Start, err = strconv.ParseUint(field[starttime], 10, 64); err != nil {
		return Process{}, errStat
	}
	bits, err := strconv.ParseUint(field[flags], 10, 64)
	if err != nil {
		return Process{}, errStat
	}
	p.kernel = bits&flagKthread != 0
	if p.State == Zombie && field[threads] != "1" && field[threads] != "0" {
		// Its main thread has ended and is a zombie; its others run on.
		p.State, p.headless = Sleeping, true
	}
	return p, nil
}

func stateOf(c byte) State {
	switch c {
	case 'R':
		return Running
	case 'S', 'I':
		return Sleeping
	case 'D':
		return Blocked
	case 'T', 't':
		return Stopped
	case 'Z', 'X', 'x':
		return Zombie
	}
	return Unknown
}

func argv(pid int) []string {
	dir := "/proc/" + strconv.Itoa(pid)
	raw, err := os.ReadFile(dir + "/cmdline")
	if args := splitArgs(string(raw)); err == nil && args != nil {
		return args
	}
	comm, err := os.ReadFile(dir + "/comm")
	if err != nil {
		return nil
	}
	return []string{"[" + strings.TrimSuffix(string(comm), "\n") + "]"}
}

func environment(p Process) (string, Carries, error) {
	raw, err := environ(p)
	switch {
	case err == nil:
		return raw, shows(raw), nil
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
		return "", No, err // no answer: the fault is here, not there
	}
	return "", No, nil // ended meanwhile, or not for us to see
}

func environ(p Process) (raw string, err error) {
	dir := "/proc/" + strconv.Itoa(p.PID)
	if !p.headless {
		return readAtOnce(dir + "/environ")
	}
	threads, err := os.ReadDir(dir + "/task")
	for _, thread := range threads {
		if raw, err = readAtOnce(dir + "/task/" + thread.Name() + "/environ"); len(raw) > 0 {
			break
		}
	}
	return raw, err
}

// buffers are for environments: one for each process would be work for the collector.
var buffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// readAtOnce reads with one system call. Between two, an execve would end the file:
// the rest, with the token in it, would seem not to be there.
func readAtOnce(path string) (string, error) {
	fd, err := openRetry(path)
	if err != nil {
		return "", err
	}
	defer syscall.Close(fd)
	first := buffers.Get().(*[16 << 10]byte)
	defer buffers.Put(first)
	for buf := first[:]; ; buf = make([]byte, 4*len(buf)) {
		n, err := readOnce(fd, buf)
		if err != nil || n < len(buf) {
			return string(buf[:n]), err
		}
	}
}

// bootTime is computed once: the clock may be set later, and a start time that
// moves would be worth nothing in a report. The btime of /proc/stat is in whole
// seconds, and off by up to one.
var bootTime = sync.OnceValue(func() time.Time {
	var now, up unix.Timespec // not time.Now, which may be that of a synctest bubble
	err1 := unix.ClockGettime(unix.CLOCK_REALTIME, &now)
	err2 := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up)
	if err1 != nil || err2 != nil {
		return time.Time{}
	}
	return time.Unix(0, now.Nano()-up.Nano())
})

func startTime(start uint64) time.Time {
	boot := bootTime()
	if boot.IsZero() {
		return time.Time{}
	}
	return boot.Add(time.Duration(start) * clockTick)
}
