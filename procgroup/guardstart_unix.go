//go:build linux || darwin || freebsd

package procgroup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/stdioguard/stdioguard/internal/executable"
	"github.com/stdioguard/stdioguard/internal/guardian"
	"github.com/stdioguard/stdioguard/internal/proctable"
)

// trialBound is how long the trial may take to answer.
const trialBound = 10 * time.Second

var trial struct {
	sync.Mutex
	passed, failed bool
}

// guardable tells whether a guardian can be had in this process at all: it is a
// program of its own and not a library in somebody else's, and a trial has worked.
// A trial that failed for want of something that may be there again is repeated at
// the next start.
func guardable() bool {
	trial.Lock()
	defer trial.Unlock()
	if trial.passed || trial.failed {
		return trial.passed
	}
	if trial.failed = !capable(); trial.failed {
		return false
	}
	// A guardian that is to start a directory says that it cannot.
	probe := exec.Command("/")
	probe.Err = nil
	probe.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	_, err := startGuarded(probe, Config{}, trialToken)
	trial.passed = errors.Is(err, syscall.EACCES)
	trial.failed = !trial.passed && !slices.ContainsFunc(
		[]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM},
		func(shortage error) bool { return errors.Is(err, shortage) })
	return trial.passed
}

// capable tells what needs no trial.
func capable() bool {
	return guardian.Supported && !strayGuardian() && executable.StandsAlone()
}

// strayGuardian tells whether this process was itself meant to be a guardian, and
// did not know it. It must not try to start another, which would do the same.
func strayGuardian() bool {
	_, found := os.LookupEnv(guardian.Var)
	return found
}

const trialToken = "trial"

// fights names the attribute, if any, that is meant for the server itself and that
// a process between would spoil.
func fights(attr *syscall.SysProcAttr) string {
	for name, set := range map[string]bool{
		"Chroot": attr.Chroot != "", "Ptrace": attr.Ptrace, "Setctty": attr.Setctty, "Noctty": attr.Noctty,
		"Foreground": attr.Foreground,
		"Credential": attr.Credential != nil && int(attr.Credential.Uid) != os.Geteuid() && !readableByAll(selfPath()),
	} {
		if set {
			return name
		}
	}
	return fightsHere(attr)
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
	why := ""
	switch foe := fights(cmd.SysProcAttr); {
	case c.NoGuardian:
		why = "Config.NoGuardian"
	case foe != "":
		why = "SysProcAttr." + foe
	case cmd.Err != nil || cmd.Path == "":
		why = "nothing to start" // and os/exec says so
	case selfPath() == "":
		why = "the file of this program is gone or was replaced"
	case !guardable():
		why = "a trial has shown that this program cannot run itself again"
	default:
		return startGuarded(cmd, c, token)
	}
	if c.needsCgroup() {
		return nil, &StartError{What: c.cgroupField(), Path: why, Err: errNeedsCgroup}
	}
	return startDirect(cmd, token, why)
}

func startGuarded(cmd *exec.Cmd, c Config, token string) (tree, error) {
	spec, err := c.spec(cmd)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, &StartError{What: "guardian", Err: err}
	}
	defer theirs.Close()
	if token == trialToken {
		ours.SetDeadline(time.Now().Add(trialBound))
	}
	go ours.Write(spec.Encode()) // what does not fit the socket goes when it is read
	if err := startSelf(cmd, spec, theirs); err != nil {
		ours.Close()
		if !blamesProgram(err) {
			return nil, err // too many arguments, processes or descriptors: the same without a guardian
		}
		return nil, &StartError{What: "guardian", Path: selfPath(), Err: reason(err)}
	}
	theirs.Close() // or its end of file would never come

	g := &guarded{
		socket:  ours,
		process: proctable.ID{PID: cmd.Process.Pid},
		ended:   make(chan struct{}),
		leader:  make(chan struct{}),
	}
	if err := g.await(cmd, c, spec); err != nil {
		ours.Close()
		cmd.Process.Kill()
		cmd.Process.Wait()
		rest := *cmd       // of cmd.Wait's work, which closes the pipes,
		rest.WaitDelay = 1 // and for which a reader of the caller's is not waited for
		go rest.Wait()
		cmd.Process, cmd.ProcessState = nil, nil // the command itself never ran
		return nil, err
	}
	g.census = newCensus(g.server, !c.KeepTerminal, token)
	if p, err := proctable.Lookup(g.process.PID); err == nil {
		g.process = p.ID()
	}
	go g.listen()
	return g, nil
}

// spec is what the guardian is told.
func (c Config) spec(cmd *exec.Cmd) (guardian.Spec, error) {
	spec := guardian.Spec{
		Nonce:        rand.Text(),
		Path:         cmd.Path,
		Argv:         argv(cmd),
		Files:        3 + len(cmd.ExtraFiles),
		KeepTerminal: c.KeepTerminal,
		Keep:         c.Leftovers == Keep,
		SweepMillis:  int(min(c.Grace, sweepGrace).Milliseconds()),
	}
	return spec, c.cgroupSpec(&spec)
}

// await reads what the guardian says of the start.
func (g *guarded) await(cmd *exec.Cmd, c Config, spec guardian.Spec) error {
	if spec.Cgroup != "" {
		name := guardian.CgroupPrefix + strconv.Itoa(g.process.PID) + "-" + spec.Nonce
		g.cgroup = filepath.Join(spec.Cgroup, name)
	}
	for {
		switch r, err := readReport(g.socket); {
		case err != nil:
			return &StartError{What: "guardian", Path: selfPath(), Err: fmt.Errorf("did not start the server: %w", err)}
		case r.Kind == guardian.Started:
			g.server = r.PID
			return nil
		case r.Kind == guardian.NoCgroup:
			g.cgroup, g.noCgroup = "", syscall.Errno(r.Errno)
			if spec.RequireCgroup {
				return &StartError{What: c.cgroupField(), Path: spec.Cgroup, Err: fmt.Errorf("no control group with it can be made here: %w", g.noCgroup)}
			}
		case r.Kind == guardian.Failed:
			return &os.PathError{Op: "fork/exec", Path: cmd.Path, Err: syscall.Errno(r.Errno)}
		}
	}
}

// startSelf runs our own executable in front of the command. The caller's fields
// are as he left them when it returns.
func startSelf(cmd *exec.Cmd, spec guardian.Spec, socket *os.File) error {
	path, args, files, env := cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.Env
	defer func() { cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.Env = path, args, files, env }()
	cmd.Path = selfPath()
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

func readReport(r io.Reader) (guardian.Report, error) {
	var b [guardian.ReportSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return guardian.Report{}, err
	}
	return guardian.Decode(b), nil
}
