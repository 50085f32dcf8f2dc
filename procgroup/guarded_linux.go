package procgroup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stdioguard/stdioguard/internal/guardian"
	"github.com/stdioguard/stdioguard/internal/proctable"
)

// guarded is the tree that a guardian owns: a process of its own between host and
// server, from package guardian. It is a child of the host, it does what it is
// told through the socket, and it ends, as the server ended, when the tree is gone.
// What it cannot do, because it was killed or stopped, the host does as well as it can.
type guarded struct {
	socket  *os.File
	process proctable.ID // of the guardian
	server  int
	census  *census
	ended   chan struct{} // closed when the guardian has ended

	leader     chan struct{} // closed when the leader has ended
	leaderOnce sync.Once

	mu        sync.Mutex
	gone      bool // the guardian has seen the tree go
	survivors []guardian.Report
	quiet     time.Time // since when nobody but the guardian is alive
}

const (
	selfPath = "/proc/self/exe" // also where the file was deleted or replaced

	// finishBound is how long a guardian may outlive its tree. One that is
	// stopped would do so for ever.
	finishBound = time.Second
)

var (
	errLost      = errors.New("its guardian was killed, and the server with it")
	errFinishing = fmt.Errorf("the guardian has not finished: %w", errUnsettled)
)

// guardable tells whether a guardian can be had in this process at all: it is a
// program of its own and not a library in somebody else's, and a trial has worked.
var guardable = sync.OnceValue(func() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-buildmode" && s.Value != "exe" && s.Value != "pie" {
			return false
		}
	}
	// A guardian that is to start a directory says that it cannot.
	trial := exec.Command("/")
	trial.Err = nil
	trial.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	_, err := startGuarded(trial, Config{}, "trial")
	return errors.Is(err, syscall.EACCES)
})

// fights tells whether the attributes are of a kind that is meant for the server
// itself and that a process between would spoil.
func fights(attr *syscall.SysProcAttr) bool {
	return attr.Chroot != "" || attr.Ptrace || attr.Setctty || attr.Noctty || attr.Foreground ||
		attr.Pdeathsig != 0 || attr.Cloneflags != 0 || attr.Unshareflags != 0 || attr.PidFD != nil ||
		len(attr.UidMappings) > 0 || len(attr.GidMappings) > 0 || len(attr.AmbientCaps) > 0 ||
		attr.Credential != nil && int(attr.Credential.Uid) != os.Geteuid() && !readableByAll(selfPath)
}

// readableByAll: a user who may not execute our file cannot run a guardian.
func readableByAll(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o005 == 0o005
}

func startTree(cmd *exec.Cmd, c Config, token string) (tree, error) {
	if err := prepare(cmd, c.KeepTerminal); err != nil {
		return nil, err
	}
	if c.NoGuardian || cmd.Err != nil || cmd.Path == "" || fights(cmd.SysProcAttr) || !guardable() {
		return startDirect(cmd, c, token)
	}
	return startGuarded(cmd, c, token)
}

func startGuarded(cmd *exec.Cmd, c Config, token string) (tree, error) {
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, &StartError{What: "guardian", Err: err}
	}
	defer theirs.Close()
	spec := guardian.Spec{
		Nonce:        rand.Text(),
		Path:         cmd.Path,
		Argv:         argv(cmd),
		Files:        3 + len(cmd.ExtraFiles),
		KeepTerminal: c.KeepTerminal,
		Keep:         c.Leftovers == Keep,
		SweepMillis:  int(min(c.Grace, sweepGrace).Milliseconds()),
	}
	if c.Grace == 0 {
		spec.SweepMillis = int(sweepGrace.Milliseconds())
	}
	go ours.Write(spec.Encode()) // what does not fit the socket goes when it is read
	if err := startSelf(cmd, spec, theirs); err != nil {
		ours.Close()
		return nil, &StartError{What: "guardian", Path: selfPath, Err: reason(err)}
	}
	theirs.Close() // or its end of file would never come

	first, err := readReport(ours)
	if err != nil || first.Kind != guardian.Started {
		ours.Close()
		cmd.Process.Kill()
		cmd.Wait()
		cmd.Process, cmd.ProcessState = nil, nil // the command itself never ran
		if err == nil && first.Kind == guardian.Failed {
			return nil, &os.PathError{Op: "fork/exec", Path: cmd.Path, Err: syscall.Errno(first.Errno)}
		}
		return nil, &StartError{What: "guardian", Path: selfPath, Err: fmt.Errorf("did not start the server: %w", errors.Join(err, errLost))}
	}
	g := &guarded{
		socket:  ours,
		server:  first.PID,
		process: proctable.ID{PID: cmd.Process.Pid},
		census:  newCensus(first.PID, !c.KeepTerminal, token),
		ended:   make(chan struct{}),
		leader:  make(chan struct{}),
	}
	if p, err := proctable.Lookup(g.process.PID); err == nil {
		g.process = p.ID()
	}
	go g.listen()
	return g, nil
}

// startSelf runs our own executable in front of the command. The caller's fields
// are as he left them when it returns.
func startSelf(cmd *exec.Cmd, spec guardian.Spec, socket *os.File) error {
	path, args, files, env := cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.Env
	defer func() { cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.Env = path, args, files, env }()
	cmd.Path = selfPath
	cmd.Args = []string{"stdioguard-guardian", filepath.Base(path)} // never arguments: all can read them
	cmd.ExtraFiles = append(slices.Clone(files), socket)
	cmd.Env = append(slices.Clone(env), fmt.Sprintf("%s=%d %d %s", guardian.Var, spec.Files, os.Getpid(), spec.Nonce))
	return cmd.Start()
}

func argv(cmd *exec.Cmd) []string {
	if len(cmd.Args) > 0 {
		return cmd.Args
	}
	return []string{cmd.Path} // as os/exec
}

// socketpair returns the host's end, which has deadlines, and the guardian's.
func socketpair() (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	// The guardian reads in plain system calls.
	if err := syscall.SetNonblock(fds[1], false); err != nil {
		syscall.Close(fds[0])
		syscall.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "guardian"), os.NewFile(uintptr(fds[1]), "guardian"), nil
}

func readReport(r io.Reader) (guardian.Report, error) {
	var b [guardian.ReportSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return guardian.Report{}, err
	}
	return guardian.Decode(b), nil
}

// listen ends with the guardian: its end of the socket closes, however it dies.
func (g *guarded) listen() {
	defer close(g.ended)
	defer g.leaderHasEnded()
	for {
		r, err := readReport(g.socket)
		if err != nil {
			return
		}
		g.mu.Lock()
		switch r.Kind {
		case guardian.Ended:
			g.leaderHasEnded()
		case guardian.Gone:
			g.gone = true
		case guardian.Survivor:
			g.survivors = append(g.survivors, r)
		}
		g.mu.Unlock()
	}
}

func (g *guarded) leaderHasEnded() { g.leaderOnce.Do(func() { close(g.leader) }) }

func (g *guarded) pid() int                     { return g.server }
func (g *guarded) leaderEnded() <-chan struct{} { return g.leader }
func (g *guarded) exited() <-chan struct{}      { return g.ended }
func (g *guarded) release()                     { g.socket.Close() }

func (g *guarded) hasEnded() bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

// lost: a guardian says goodbye, unless it was killed.
func (g *guarded) lost() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone || len(g.survivors) > 0 {
		return nil
	}
	return errLost
}

// signal asks the guardian, which has the leader's number pinned. Strays are its
// business too; but where a kill has left some, it is helped: it may be stopped.
func (g *guarded) signal(sig os.Signal, strays []proctable.Process) error {
	s, ok := sig.(syscall.Signal)
	if !ok || s < 0 || s > 64 {
		return fmt.Errorf("procgroup: signal %v: %w", sig, errors.ErrUnsupported)
	}
	if s == 0 {
		return nil
	}
	ended := g.hasEnded()
	if !ended {
		g.socket.Write([]byte{byte(s)}) // fails if it ends just now: then the tree is gone, or we look after it
	}
	if s != syscall.SIGKILL && !ended {
		return nil
	}
	if slices.ContainsFunc(strays, func(p proctable.Process) bool { return p.PGID == g.server }) {
		killGroup(g.server, s) // a member that was just seen pins the number
	}
	return signalStrays(s, g.server, strays)
}

func (g *guarded) alive() ([]proctable.Process, error) {
	ended := g.hasEnded()
	g.mu.Lock()
	gone, survivors := g.gone, g.survivors
	g.mu.Unlock()
	switch {
	case gone && ended:
		return nil, nil
	case ended:
		alive, err := g.census.alive()
		return g.addSurvivors(alive, survivors), err
	}
	alive, err := g.census.alive(g.process.PID)
	if len(alive) > 0 || err != nil {
		g.mu.Lock()
		g.quiet = time.Time{}
		g.mu.Unlock()
		return alive, err
	}
	return g.finishing()
}

// finishing gives the guardian of an empty tree the time to say so, and then
// counts it among the living.
func (g *guarded) finishing() ([]proctable.Process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.quiet.IsZero() {
		g.quiet = time.Now()
	}
	if time.Since(g.quiet) < finishBound {
		return nil, errFinishing
	}
	p, err := proctable.Lookup(g.process.PID)
	if err != nil || p.ID() != g.process || !p.Alive() {
		return nil, nil
	}
	return []proctable.Process{p}, nil
}

// addSurvivors adds those whom the guardian could not kill: what became root is
// not found by its environment.
func (g *guarded) addSurvivors(alive []proctable.Process, survivors []guardian.Report) []proctable.Process {
	for _, s := range survivors {
		p, err := proctable.Lookup(s.PID)
		known := slices.ContainsFunc(alive, func(p proctable.Process) bool { return p.PID == s.PID })
		if err == nil && p.Alive() && !known {
			alive = append(alive, p)
		}
	}
	return alive
}
