package leakcheck

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stdioguard/stdioguard/internal/executable"
	"github.com/stdioguard/stdioguard/internal/guardian"
	"github.com/stdioguard/stdioguard/internal/proctable"
)

// janitor waits beside this process for its death: see package guardian.
var janitor keeper

type keeper struct {
	once sync.Once

	mu     sync.Mutex
	id     proctable.ID
	socket int // 0 where there is no janitor
	spared map[proctable.ID]bool
}

// engage starts the janitor at its first call. Where none can be had the checks
// are as good as ever, and nothing covers a panic.
func (k *keeper) engage() {
	k.once.Do(func() {
		if !helper && os.Getenv(guardian.JanitorVar) == "" && executable.StandsAlone() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.start()
		}
	})
}

func (k *keeper) start() {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	theirs := os.NewFile(uintptr(pair[1]), "janitor")
	defer theirs.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe",
		// Only the first is for people. The second is in case that the janitor is
		// not one: then it has no test to run.
		Args:        []string{"stdioguard-janitor", "-test.run=^$"},
		Env:         janitorEnv(),
		Dir:         "/", // or it would hold the directory of the test
		ExtraFiles:  []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // out of reach of the terminal
	}
	// Descriptor 2 and not os.Stderr, which a test may have redirected.
	if fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3); err == nil {
		stderr := os.NewFile(uintptr(fd), "stderr")
		defer stderr.Close()
		cmd.Stderr = stderr
	}
	if err := cmd.Start(); err != nil {
		unix.Close(pair[0])
		return
	}
	if p, err := proctable.Lookup(cmd.Process.Pid); err == nil {
		k.id = p.ID()
	}
	cmd.Process.Release() // nobody waits: that would be a goroutine
	k.socket = pair[0]
}

// janitorEnv has no token, or the janitor would be looked for.
func janitorEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, proctable.TokenVar+"=") || strings.HasPrefix(kv, guardian.Var+"=")
	})
	return append(env, fmt.Sprintf("%s=%d %d %s", guardian.JanitorVar, 3, os.Getpid(), token))
}

// is tells whether that is the janitor of this process.
func (k *keeper) is(id proctable.ID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.id.PID != 0 && id == k.id
}

// spare tells the janitor of a process that is to live on.
func (k *keeper) spare(id proctable.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.socket == 0 || k.spared[id] {
		return
	}
	if k.spared == nil {
		k.spared = make(map[proctable.ID]bool)
	}
	k.spared[id] = true
	k.tell(guardian.Spare(id.PID, id.Start))
}

// dismiss ends the janitor: there is nothing to do any more.
func (k *keeper) dismiss() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.socket != 0 {
		k.tell(guardian.Dismiss())
	}
}

// tell writes a message. Nothing depends on whether the janitor still lives.
func (k *keeper) tell(message []byte) {
	for {
		err := unix.Sendto(k.socket, message, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// adoptsOrphans tells whether orphans of others come to this process as children: as
// pid 1 of a namespace, or as a subreaper.
func adoptsOrphans(self int) bool {
	var on int32
	_, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&on)), 0)
	return self == 1 || errno == 0 && on != 0
}
