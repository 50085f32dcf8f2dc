package proctable

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// list leaves out what has ended and is kept only by somebody's handle: Windows
// has no zombies that a parent must wait for. States are not to be had.
func list() ([]Process, error) {
	entries, err := snapshot()
	if err != nil {
		return nil, err
	}
	all := make([]Process, 0, len(entries))
	starts := make(map[int]uint64, len(entries))
	for pid, e := range entries {
		start, err := startOf(uint32(pid))
		if errors.Is(err, ErrNoProcess) {
			continue
		}
		all = append(all, Process{PID: pid, PPID: int(e.ParentProcessID), State: Running, Start: start})
		starts[pid] = start
	}
	for i := range all {
		if start, exists := starts[all[i].PPID]; exists {
			all[i].PPID = parent(all[i], start)
		}
	}
	return all, nil
}

func lookup(pid int) (Process, error) {
	entries, err := snapshot()
	if err != nil {
		return Process{}, err
	}
	e, ok := entries[pid]
	if !ok {
		return Process{}, ErrNoProcess
	}
	p := Process{PID: pid, PPID: int(e.ParentProcessID), State: Running}
	if p.Start, err = startOf(uint32(pid)); errors.Is(err, ErrNoProcess) {
		return Process{}, err
	}
	if start, err := startOf(e.ParentProcessID); !errors.Is(err, ErrNoProcess) {
		p.PPID = parent(p, start)
	}
	return p, nil
}

// parent returns p.PPID, or 0 if the process that now has this number cannot be
// the parent. Windows never changes the number when the parent ends, and gives
// it to somebody else soon; that one is then younger than the child.
func parent(p Process, parentStart uint64) int {
	if p.Start == 0 || parentStart == 0 || parentStart > p.Start {
		return 0 // an age that is hidden proves nothing either
	}
	return p.PPID
}

// snapshot returns the table by PID, without the idle time that is listed in it
// as process 0.
func snapshot() (map[int]windows.ProcessEntry32, error) {
	handle, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: CreateToolhelp32Snapshot: %w", ErrIncomplete, err)
	}
	defer windows.CloseHandle(handle)

	entries := make(map[int]windows.ProcessEntry32)
	e := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(handle, &e); err == nil; err = windows.Process32Next(handle, &e) {
		if e.ProcessID != 0 {
			entries[int(e.ProcessID)] = e
		}
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil, fmt.Errorf("%w: Process32Next: %w", ErrIncomplete, err)
	}
	return entries, nil
}

// startOf returns the time of creation in units of 100 ns, or 0 and an error for
// a process that we may not open. The error is ErrNoProcess for one that ended.
func startOf(pid uint32) (uint64, error) {
	handle, err := open(pid, windows.PROCESS_QUERY_LIMITED_INFORMATION)
	if err != nil {
		return 0, err
	}
	defer windows.CloseHandle(handle)
	return created(handle)
}

// open opens a process that has not ended. The object outlives the process for
// as long as anybody has a handle, and can be opened all that time.
func open(pid, access uint32) (windows.Handle, error) {
	handle, err := windows.OpenProcess(access|windows.SYNCHRONIZE, false, pid)
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return 0, ErrNoProcess
	}
	if err != nil {
		return 0, fmt.Errorf("OpenProcess %d: %w", pid, err)
	}
	if event, err := windows.WaitForSingleObject(handle, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		windows.CloseHandle(handle)
		return 0, ErrNoProcess
	}
	return handle, nil
}

func created(process windows.Handle) (uint64, error) {
	var creation, exit, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &creation, &exit, &kernel, &user); err != nil {
		return 0, fmt.Errorf("GetProcessTimes: %w", err)
	}
	return uint64(creation.HighDateTime)<<32 | uint64(creation.LowDateTime), nil
}

func startTime(start uint64) time.Time {
	if start == 0 {
		return time.Time{}
	}
	ft := windows.Filetime{HighDateTime: uint32(start >> 32), LowDateTime: uint32(start)}
	return time.Unix(0, ft.Nanoseconds())
}

// signalID knows one signal. The handle pins the process while its identity is
// checked.
func signalID(id ID, sig syscall.Signal) error {
	if sig != syscall.SIGKILL {
		return fmt.Errorf("signal %v: %w", sig, errors.ErrUnsupported)
	}
	handle, err := open(uint32(id.PID), windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_LIMITED_INFORMATION)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(handle)
	start, err := created(handle)
	if err != nil {
		return err
	}
	if start != id.Start {
		return ErrNoProcess
	}
	return windows.TerminateProcess(handle, 1) // the exit code that os.Process.Kill gives
}

// argv falls back to the program alone where the command line is not to be read
// or not to be split: it is one string here.
func argv(pid int) []string {
	if handle, err := open(uint32(pid), readMemory); err == nil {
		defer windows.CloseHandle(handle)
		line, err := text(handle, unsafe.Offsetof(windows.RTL_USER_PROCESS_PARAMETERS{}.CommandLine))
		if args, splitErr := windows.DecomposeCommandLine(line); err == nil && splitErr == nil && len(args) > 0 {
			return args
		}
	}
	entries, err := snapshot()
	if err != nil {
		return nil
	}
	e, ok := entries[pid]
	if !ok {
		return nil
	}
	return []string{"[" + windows.UTF16ToString(e.ExeFile[:]) + "]"}
}

func environment(p Process) (string, Carries, error) {
	handle, err := open(uint32(p.PID), readMemory)
	if err != nil {
		return "", No, nil // ended meanwhile, or of another user
	}
	defer windows.CloseHandle(handle)
	raw, err := environ(handle)
	if err != nil {
		return "", No, nil
	}
	return raw, shows(raw), nil
}

// What follows reads the parameters that a process was created with, from its
// own memory. Pointers found there mean nothing here, so they are kept as
// numbers: the garbage collector stops the program at a pointer into memory that
// it knows to be free.
const readMemory = windows.PROCESS_QUERY_INFORMATION | windows.PROCESS_VM_READ

func environ(process windows.Handle) (string, error) {
	params, err := parameters(process)
	if err != nil {
		return "", err
	}
	var block, size uintptr
	err = errors.Join(
		read(process, params+unsafe.Offsetof(windows.RTL_USER_PROCESS_PARAMETERS{}.Environment), &block),
		read(process, params+unsafe.Offsetof(windows.RTL_USER_PROCESS_PARAMETERS{}.EnvironmentSize), &size))
	if err != nil {
		return "", err
	}
	return readText(process, block, min(size, 1<<24))
}

// text returns the parameter whose UNICODE_STRING is at an offset.
func text(process windows.Handle, offset uintptr) (string, error) {
	params, err := parameters(process)
	if err != nil {
		return "", err
	}
	var s struct {
		length, _ uint16
		buffer    uintptr
	}
	if err := read(process, params+offset, &s); err != nil {
		return "", err
	}
	return readText(process, s.buffer, uintptr(s.length))
}

func parameters(process windows.Handle) (params uintptr, err error) {
	var info struct {
		_, peb, _, _, _, _ uintptr // PROCESS_BASIC_INFORMATION
	}
	err = windows.NtQueryInformationProcess(process, windows.ProcessBasicInformation,
		unsafe.Pointer(&info), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0, err
	}
	err = read(process, info.peb+unsafe.Offsetof(windows.PEB{}.ProcessParameters), &params)
	return params, err
}

func readText(process windows.Handle, at, size uintptr) (string, error) {
	chars := make([]uint16, size/2)
	if len(chars) == 0 {
		return "", nil
	}
	err := windows.ReadProcessMemory(process, at, (*byte)(unsafe.Pointer(&chars[0])), uintptr(len(chars))*2, nil)
	return string(utf16.Decode(chars)), err
}

// read fills a variable that holds no pointers.
func read[T any](process windows.Handle, at uintptr, into *T) error {
	return windows.ReadProcessMemory(process, at, (*byte)(unsafe.Pointer(into)), unsafe.Sizeof(*into), nil)
}
