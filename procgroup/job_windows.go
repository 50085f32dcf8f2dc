package procgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// killedCode is the exit code of what was killed, as os.Process.Kill gives it.
const killedCode = 1

var (
	errBreakaway = fmt.Errorf("takes the command out of its job: %w", os.ErrInvalid)
	errEnding    = errors.New("the job still counts a process that it does not list")

	// One call on a handle that is at hand. ResumeThread, the documented way,
	// needs a handle on the thread, and os/exec has closed that: one would have to
	// find it in a list of all threads of the machine, and to guess which one of
	// the process it is where a virus scanner has added its own.
	ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")
)

// job is the tree that a job object holds. Whatever a member starts is in it,
// without regard to parents and consoles, and cannot leave. The kernel ends all
// members when the last handle on the job is closed, so with the host, however
// that ends.
type job struct {
	handle windows.Handle
	leader int
	keep   bool // leave the members alone on release
	ended  chan struct{}
}

// startTree starts the command suspended, so that it has not run one
// instruction, and started nobody, when it is put into the job. A host that is
// killed between the two leaves a process that never runs.
func startTree(cmd *exec.Cmd, c Config, _ string) (tree, error) {
	if c.needsCgroup() {
		return nil, &StartError{What: c.cgroupField(), Err: errors.ErrUnsupported}
	}
	attr, resume, err := suspended(cmd.SysProcAttr)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = attr
	j := &job{keep: c.Leftovers == Keep, ended: make(chan struct{})}
	if j.handle, err = windows.CreateJobObject(nil, nil); err != nil {
		return nil, &StartError{What: "job object", Err: err}
	}
	if err := j.limit(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		windows.CloseHandle(j.handle)
		return nil, &StartError{What: "job object", Err: err}
	}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(j.handle)
		return nil, err
	}
	j.leader = cmd.Process.Pid
	if err := j.adopt(cmd.Process, resume); err != nil {
		// The job may have it or not: end it both ways.
		windows.CloseHandle(j.handle)
		cmd.Process.Kill()
		cmd.Wait()
		return nil, &StartError{What: "job object", Err: err}
	}
	return j, nil
}

// suspended returns the attributes to start with, and whether the process is to
// be resumed: not where the caller himself wants it to begin suspended.
func suspended(given *syscall.SysProcAttr) (attr *syscall.SysProcAttr, resume bool, err error) {
	attr = new(syscall.SysProcAttr)
	if given != nil {
		*attr = *given
	}
	if attr.CreationFlags&windows.CREATE_BREAKAWAY_FROM_JOB != 0 {
		return nil, false, &StartError{What: "SysProcAttr", Path: "CREATE_BREAKAWAY_FROM_JOB", Err: errBreakaway}
	}
	resume = attr.CreationFlags&windows.CREATE_SUSPENDED == 0
	attr.CreationFlags |= windows.CREATE_SUSPENDED
	if attr.CreationFlags&(windows.CREATE_NEW_CONSOLE|windows.DETACHED_PROCESS) == 0 {
		// Or a host without a console would open a window for every server.
		attr.CreationFlags |= windows.CREATE_NO_WINDOW
	}
	return attr, resume, nil
}

// adopt puts the process into the job, watches it and lets it run: in this
// order, so that whatever fails, nothing has happened yet.
func (j *job) adopt(p *os.Process, resume bool) error {
	var err error
	handleErr := p.WithHandle(func(h uintptr) {
		process := windows.Handle(h)
		if err = windows.AssignProcessToJobObject(j.handle, process); err != nil {
			err = os.NewSyscallError("AssignProcessToJobObject", err)
			return
		}
		if err = j.watch(process); err != nil || !resume {
			return
		}
		err = resumeProcess(process)
	})
	return errors.Join(handleErr, err)
}

// watch waits on a handle of its own: that of os.Process goes with the reap. It
// holds a thread until the process ends.
func (j *job) watch(process windows.Handle) error {
	self := windows.CurrentProcess()
	var own windows.Handle
	if err := windows.DuplicateHandle(self, process, self, &own, windows.SYNCHRONIZE, false, 0); err != nil {
		return os.NewSyscallError("DuplicateHandle", err)
	}
	go func() {
		defer close(j.ended)
		defer windows.CloseHandle(own)
		windows.WaitForSingleObject(own, windows.INFINITE)
	}()
	return nil
}

func resumeProcess(process windows.Handle) error {
	if err := ntResumeProcess.Find(); err != nil {
		return err
	}
	if status, _, _ := ntResumeProcess.Call(uintptr(process)); int32(status) < 0 {
		return os.NewSyscallError("NtResumeProcess", windows.NTStatus(status))
	}
	return nil
}

func (j *job) leaderEnded() <-chan struct{} { return j.ended }

func (j *job) pid() int { return j.leader }

func (j *job) exited() <-chan struct{} { return j.ended }

// terminate: there is no asking here.
func (j *job) terminate() error { return errors.ErrUnsupported }

func (j *job) lost() error { return nil }

func (j *job) containment() Containment {
	return Containment{Mechanism: MechanismJob, Reach: ReachAnyUser, HostDeath: true, Gaps: []string{
		"what a service starts on request (WMI, Task Scheduler, COM) is not of the tree",
	}}
}

// release ends what is left, unless that was to be kept.
func (j *job) release() {
	if j.keep {
		j.limit(0)
	}
	windows.CloseHandle(j.handle)
}

// signal needs no list of strays: nobody can leave a job.
func (j *job) signal(sig os.Signal, _ []proctable.Process) error {
	if sig != os.Kill {
		return fmt.Errorf("procgroup: signal %v: %w", sig, errors.ErrUnsupported)
	}
	if err := windows.TerminateJobObject(j.handle, killedCode); err != nil {
		return fmt.Errorf("procgroup: %w", os.NewSyscallError("TerminateJobObject", err))
	}
	return nil
}

// alive goes by the job alone. The table of processes, which may have let go a
// member that the job still waits for, adds only what a reader wants to know.
func (j *job) alive() ([]proctable.Process, error) {
	active, err := j.active()
	if err != nil || active == 0 {
		return nil, err
	}
	pids, err := j.pids(active)
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, errEnding
	}
	all, err := proctable.List()
	if err != nil {
		return nil, err
	}
	rows := make(map[int]proctable.Process, len(all))
	for _, p := range all {
		rows[p.PID] = p
	}
	alive := make([]proctable.Process, 0, len(pids))
	for _, pid := range pids {
		p, known := rows[int(pid)]
		if !known {
			p = proctable.Process{PID: int(pid), State: proctable.Unknown}
		}
		alive = append(alive, p)
	}
	return alive, nil
}

// active returns how many members have not ended.
func (j *job) active() (int, error) {
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		_                   [4]int64 // times
		_, _, active, ended uint32
	}
	err := query(j.handle, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info))
	return int(info.active), err
}

// pids lists the members. room is how many to expect.
func (j *job) pids(room int) ([]uintptr, error) {
	// JOBOBJECT_BASIC_PROCESS_ID_LIST: two 32-bit counts, then the list.
	const word = unsafe.Sizeof(uintptr(0))
	const head = 8 / word
	for room += 8; ; room *= 2 {
		list := make([]uintptr, int(head)+room)
		err := query(j.handle, windows.JobObjectBasicProcessIdList,
			uintptr(unsafe.Pointer(&list[0])), uintptr(len(list))*word)
		if errors.Is(err, windows.ERROR_MORE_DATA) {
			continue // more were born meanwhile
		}
		if err != nil {
			return nil, err
		}
		listed := (*[2]uint32)(unsafe.Pointer(&list[0]))[1]
		return list[head:][:listed], nil
	}
}

// limit sets the limits of the job. No breakaway is among them, ever: with it a
// member could start processes outside.
func (j *job) limit(flags uint32) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = flags
	return set(j.handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info))
}

// query and set take the address of a variable as a number, as x/sys does. The
// directive keeps the variable off the stack, which may move under it.
//
//go:uintptrescapes
func query(job windows.Handle, class int32, info, size uintptr) error {
	err := windows.QueryInformationJobObject(job, class, info, uint32(size), nil)
	return os.NewSyscallError("QueryInformationJobObject", err)
}

//go:uintptrescapes
func set(job windows.Handle, class uint32, info, size uintptr) error {
	_, err := windows.SetInformationJobObject(job, class, info, uint32(size))
	return os.NewSyscallError("SetInformationJobObject", err)
}
