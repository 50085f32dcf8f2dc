package guardian

import (
	"syscall"
	"unsafe"
)

// What a janitor reads of processes that are not its children.

// statOf tells whether that is a thread of the kernel, and when the process began; 0
// for a zombie, which is no process any more, and for nobody.
func statOf(pid int) (kernel bool, start uint64) {
	const state, flags, threads, starttime, kthread = 0, 6, 17, 19, 0x00200000
	field := fields(behindName(readFile("/proc/" + decimal(pid) + "/stat")))
	if len(field) <= starttime {
		return false, 0
	}
	bits, begin := uint64Of(field[flags]), uint64Of(field[starttime])
	if field[state] == "Z" && field[threads] <= "1" || field[state] == "X" {
		return false, 0
	}
	return bits&kthread != 0, begin
}

// ticksPerSecond is the unit of the time at which a process began: USER_HZ, the same on
// every architecture that Go runs on.
const ticksPerSecond = 100

// uptime returns the time since boot, as the times of processes are told.
func uptime() uint64 {
	const clockBoottime = 7
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano()) / (1e9 / ticksPerSecond)
}

func fields(s string) (list []string) {
	for start, i := 0, 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ' ' || s[i] == '\n' {
			if i > start {
				list = append(list, s[start:i])
			}
			start = i + 1
		}
	}
	return list
}

func uint64Of(s string) (n uint64) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0
		}
		n = n*10 + uint64(s[i]-'0')
	}
	return n
}

// environOf reads an environment by one system call: between two, an execve would
// end the file. Of a process whose main thread has ended the others are asked.
func environOf(pid int) (environ string, shown bool) {
	dir := "/proc/" + decimal(pid)
	environ, shown = readAtOnce(dir + "/environ")
	if environ == "" && shown {
		for _, thread := range names(dir + "/task") {
			if environ, _ = readAtOnce(dir + "/task/" + thread + "/environ"); environ != "" {
				break
			}
		}
	}
	return environ, shown
}

func readAtOnce(path string) (text string, ok bool) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer syscall.Close(fd)
	for buf := scratch[:]; ; buf = make([]byte, 4*len(buf)) {
		n, err := syscall.Pread(fd, buf, 0)
		if err == nil && n < len(buf) {
			return string(buf[:n]), true
		}
		if err != nil && err != syscall.EINTR {
			return "", false
		}
	}
}
