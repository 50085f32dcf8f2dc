package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// privateMemory returns the bytes that belong to one process alone.
func privateMemory(pid int) (int, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	total := 0
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "Private_") {
			kb, _ := strconv.Atoi(strings.Fields(line)[1])
			total += kb << 10
		}
	}
	return total, nil
}

// cpuTime returns what a process has used, to a tick of the kernel's clock, and how
// often it was woken, which is finer.
func cpuTime(pid int) (used time.Duration, woken int, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
			woken, _ = strconv.Atoi(strings.TrimSpace(rest))
		}
	}
	return time.Duration(user+system) * 10 * time.Millisecond, woken, err
}

// room says why so many processes of so many bytes each do not fit here, or nothing.
func room(processes, each, files int) string {
	if left, what := processesLeft(); left >= 0 && processes > left {
		return fmt.Sprintf("%d processes do not fit: %s leaves %d", processes, what, left)
	}
	if free := availableMemory(); free > 0 && processes*each > free/2 {
		return fmt.Sprintf("%d processes of %d KiB do not fit into half of %d MiB", processes, each>>10, free>>20)
	}
	if limit := openFiles(); limit > 0 && files > limit-64 {
		return fmt.Sprintf("%d descriptors do not fit: the limit is %d", files, limit)
	}
	return ""
}

// processesLeft is the tightest of the limits that the kernel sets.
func processesLeft() (left int, what string) {
	left = -1
	tighten := func(n int, name string) {
		if n >= 0 && (left < 0 || n < left) {
			left, what = n, name
		}
	}
	running, _ := filepath.Glob("/proc/[0-9]*")
	if most, ok := readNumber("/proc/sys/kernel/pid_max"); ok {
		tighten(most-len(running), "kernel.pid_max")
	}
	if os.Getuid() != 0 {
		var limit syscall.Rlimit
		const nproc = 6 // RLIMIT_NPROC, which package syscall does not name
		if syscall.Getrlimit(nproc, &limit) == nil && limit.Cur < 1<<30 {
			tighten(int(limit.Cur)-len(running), "RLIMIT_NPROC")
		}
	}
	for _, dir := range pidsGroups() {
		most, ok := readNumber(filepath.Join(dir, "pids.max"))
		used, _ := readNumber(filepath.Join(dir, "pids.current"))
		if ok {
			tighten(most-used, "pids.max of the control group")
		}
	}
	return left, what
}

// pidsGroups are the directories of the control groups that may limit this process.
func pidsGroups() (dirs []string) {
	raw, _ := os.ReadFile("/proc/self/cgroup")
	in := bufio.NewScanner(strings.NewReader(string(raw)))
	for in.Scan() {
		parts := strings.SplitN(in.Text(), ":", 3)
		if len(parts) != 3 || (parts[1] != "" && parts[1] != "pids") {
			continue
		}
		root := "/sys/fs/cgroup"
		if parts[1] == "pids" {
			root += "/pids"
		}
		for path := parts[2]; ; path = filepath.Dir(path) {
			dirs = append(dirs, filepath.Join(root, path))
			if path == "/" || path == "." {
				break
			}
		}
	}
	return dirs
}

func readNumber(path string) (int, bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	return n, err == nil
}

func availableMemory() int {
	raw, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kb << 10
		}
	}
	return 0
}

func cpuModel() string {
	raw, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func kernel() string {
	raw, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	parts := strings.SplitN(strings.TrimSpace(string(raw)), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func load() string {
	raw, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(raw))[:min(3, len(strings.Fields(string(raw))))], " ")
}

// limitMemory makes a process that wants more fail. It is for hosts that have no
// limit of their own.
func limitMemory(bytes uint64) {
	limit := syscall.Rlimit{Cur: bytes, Max: bytes}
	syscall.Setrlimit(syscall.RLIMIT_AS, &limit)
}

// guardiansMemory is the private memory of all children of this process that run
// its own executable and have a child themselves: the guardians of its servers.
func guardiansMemory() (kib float64) {
	all, err := proctable.List()
	if err != nil {
		return 0
	}
	parents := map[int]bool{}
	for _, p := range all {
		parents[p.PPID] = true
	}
	for _, p := range all {
		if p.PPID == os.Getpid() && parents[p.PID] {
			bytes, _ := privateMemory(p.PID)
			kib += float64(bytes) / 1024
		}
	}
	return kib
}
