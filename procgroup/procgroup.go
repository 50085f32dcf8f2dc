// Package procgroup starts a command so that its whole process tree can be
// stopped, waited for and proven gone. It knows processes only: no JSON, no
// MCP. Package stdio builds a transport on it; any program that starts
// helpers can use it alone.
//
// # Who owns what
//
//	exec.Cmd --Start--> Group --one goroutine--> tree --> guardian --> leader
//	                      ^                       |   --> leader
//	   Stop, Kill, ctx ---+                       |   --> job object
//	                                              |
//	                 leaderEnded, exited, alive --+-- signal, terminate
//
// From Start on the command belongs to the [Group]: one goroutine of the group
// owns the tree from the moment it has a PID until it is verified gone, and it
// alone reaps. Everybody else asks it, by closing a channel. The order is
// always the same, because each step makes the next one safe:
//
//  1. watch: the leader's exit is noticed without reaping it, so its PID, which
//     is also the number of the group, cannot be given to a stranger;
//  2. sweep: what is left of the tree is ended, and proven to be;
//  3. reap: only now the leader's status is collected and the number let go.
//
// There are three trees behind one interface. The guarded one (Linux, FreeBSD,
// macOS) has a process between host and leader, package internal/guardian, that
// takes these steps, outlives the host, and is the one to whom orphans come. The
// direct one (wherever there is no guardian) takes them from the host. The job
// (Windows) leaves them to the kernel. [Group.Containment] says which one it is.
//
// # Limits
//
// A process that another daemon starts on request is not of the tree. Without a
// guardian a tree outlives a host that is killed, and a process that left the group,
// its parents and its environment gets away. On Windows a host that is killed in the
// instant between the creation of a process and its assignment leaves that one behind,
// suspended, never to run. docs/guarantees.md has the whole list.
package procgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/stdioguard/stdioguard/internal/guardian"
	"github.com/stdioguard/stdioguard/internal/proctable"
)

// ErrStatusUnknown is returned by [Group.Wait] when the exit status of the
// leader was taken by somebody else: another wait4 in this process, or SIGCHLD
// set to be ignored. The tree is gone all the same.
var ErrStatusUnknown = errors.New("exit status unknown: it was collected elsewhere in this process")

// Leftovers says what happens to processes that the leader leaves behind when
// it ends by itself, or when asked to by Stop.
type Leftovers int

const (
	// Sweep ends them: SIGTERM, a moment of at most a quarter of a second
	// (the rest of the grace period where Stop has begun one), SIGKILL.
	Sweep Leftovers = iota
	// Keep leaves them running, and the group is done as soon as its leader
	// is, or, where Stdout or Stderr is no file, when they close it, or after
	// cmd.WaitDelay. Kill and the end of the lifetime context still end all of them
	// while the leader runs.
	Keep
)

// CgroupMode says whether a command gets a control group of its own.
type CgroupMode int

const (
	// CgroupAuto makes one where the rights of the host suffice.
	CgroupAuto CgroupMode = iota
	// CgroupOff makes none.
	CgroupOff
	// CgroupRequire makes Start fail where there can be none.
	CgroupRequire
)

// Config says how a command is started and stopped. The zero value holds the
// documented defaults and is ready to use. A Config may be used for any number
// of commands, at once.
type Config struct {
	// Grace is how long [Group.Stop] waits between SIGTERM and SIGKILL.
	// Zero means 2 s. Negative values are refused by Start.
	Grace time.Duration

	// KeepTerminal leaves the command in the host's session, in a process group
	// of its own: it can then open /dev/tty. By default it gets a session of
	// its own and no terminal. Without effect on Windows.
	KeepTerminal bool

	// Leftovers says what happens to the processes that a polite exit leaves
	// behind.
	Leftovers Leftovers

	// NoGuardian starts the command as a child of the host itself, without a
	// guardian between: quicker by some milliseconds, but the tree outlives a
	// host that is killed. Without effect where there is no guardian anyway.
	NoGuardian bool

	// Cgroup says whether the command gets a control group of its own (Linux,
	// cgroup v2), as a child of the host's. It needs a guardian.
	Cgroup CgroupMode

	// MaxMemory, in bytes, and MaxProcesses limit the whole tree by its control
	// group; zero means no limit, negative values are refused. A limit that
	// cannot be enforced is an error of Start.
	MaxMemory    int64
	MaxProcesses int

	// wrap lets a test run with a part of the protection off. Nil otherwise.
	wrap func(*exec.Cmd, tree) tree
}

const (
	defaultGrace = 2 * time.Second

	// sweepGrace is what leftovers of a leader that ended by itself get between
	// TERM and KILL: nobody waits for their work any more.
	sweepGrace = 250 * time.Millisecond

	// killBound is how long a tree may take to vanish after KILL until its
	// survivors are reported. A process leaves uninterruptible sleep (NFS, a
	// dying disk) in its own time or never.
	killBound = 5 * time.Second

	// copyBound is how long, beyond the end of the tree, a Reader or Writer of the
	// caller's may hold up those who wait for the group.
	copyBound = 3 * time.Second

	// killPatience is how long the end of the leader is awaited before the table
	// is read, which costs more than the usual kill.
	killPatience = 200 * time.Millisecond
)

// Start starts cmd with the default [Config]. See [Config.Start].
func Start(ctx context.Context, cmd *exec.Cmd) (*Group, error) {
	return Config{}.Start(ctx, cmd)
}

// Start starts cmd as the leader of a process tree of its own and returns the
// [Group] that owns it. It blocks for as long as exec.Cmd.Start does.
//
// ctx is the lifetime of the tree: when it ends, the tree is killed without
// grace. The same holds for a context given to exec.CommandContext; a Cancel
// function of the caller's is then called as well, after the kill has begun.
//
// cmd is used as it is given, except that SysProcAttr (a copy) and, if zero,
// WaitDelay (2 s) are set, that STDIOGUARD_TOKEN is added to the environment, and
// that a bare program name is looked up in the PATH of cmd.Env, if that has one.
// WaitDelay gives no grace here: it bounds the copying of output. Afterwards the methods of
// the Group take the place of cmd.Wait. Reading from cmd.StdoutPipe is safe
// until [Group.Wait] is called.
//
// An error is a [*StartError] that names what is at fault, or wraps the error of
// ctx or, where the host is short of something, that of the system. Nothing is left running then.
func (c Config) Start(ctx context.Context, cmd *exec.Cmd) (*Group, error) {
	if err := c.check(ctx, cmd); err != nil {
		return nil, err
	}
	if err := resolve(cmd); err != nil {
		return nil, err
	}

	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	g := &Group{
		cmd:       cmd,
		grace:     c.Grace,
		leftovers: c.Leftovers,
		term:      make(chan struct{}),
		kill:      make(chan struct{}),
		done:      make(chan struct{}),
	}
	// The token is for this command alone: a command that is made from this one
	// must not be taken for a part of its tree.
	token, env := proctable.NewToken(), cmd.Env
	cmd.Env = proctable.WithToken(cmd.Environ(), token)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, guardian.Var+"=") })
	defer func() { cmd.Env = env }()
	g.cancelWith(cmd)
	if cmd.WaitDelay == 0 {
		// Bounds Wait where somebody beyond our reach holds a pipe that
		// os/exec copies from.
		cmd.WaitDelay = defaultGrace
	}

	tree, err := startTree(cmd, c, token)
	if err != nil {
		return nil, explain(cmd, err)
	}
	if c.wrap != nil {
		tree = c.wrap(cmd, tree)
	}
	g.tree = tree
	go g.own(ctx)
	return g, nil
}

func (c Config) check(ctx context.Context, cmd *exec.Cmd) error {
	switch {
	case ctx == nil:
		return &StartError{What: "context", Err: errNil}
	case cmd == nil:
		return &StartError{What: "command", Err: errNil}
	case cmd.Process != nil:
		return &StartError{What: "command", Path: cmd.Path, Err: errStarted}
	case c.Grace < 0:
		return &StartError{What: "Config.Grace", Path: c.Grace.String(), Err: errNegative}
	case c.Leftovers != Sweep && c.Leftovers != Keep:
		return &StartError{What: "Config.Leftovers", Path: fmt.Sprint(int(c.Leftovers)), Err: os.ErrInvalid}
	case c.Cgroup < CgroupAuto || c.Cgroup > CgroupRequire:
		return &StartError{What: "Config.Cgroup", Path: fmt.Sprint(int(c.Cgroup)), Err: os.ErrInvalid}
	case c.MaxMemory < 0:
		return &StartError{What: "Config.MaxMemory", Path: fmt.Sprint(c.MaxMemory), Err: errNegative}
	case c.MaxProcesses < 0:
		return &StartError{What: "Config.MaxProcesses", Path: fmt.Sprint(c.MaxProcesses), Err: errNegative}
	case c.needsCgroup() && (c.Cgroup == CgroupOff || c.NoGuardian):
		return &StartError{What: c.cgroupField(), Err: errNeedsCgroup}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("procgroup: %s not started: %w", cmd.Path, err)
	}
	return nil
}

// needsCgroup: there is no going without.
func (c Config) needsCgroup() bool {
	return c.Cgroup == CgroupRequire || c.MaxMemory > 0 || c.MaxProcesses > 0
}

// cgroupField is the field that asks for a control group.
func (c Config) cgroupField() string {
	switch {
	case c.MaxMemory > 0:
		return "Config.MaxMemory"
	case c.MaxProcesses > 0:
		return "Config.MaxProcesses"
	}
	return "Config.Cgroup"
}

// A Process is one live member of a tree.
type Process struct {
	PID   int
	PPID  int
	PGID  int       // 0 on Windows
	State string    // "running", "sleeping", "blocked", "stopped"
	Start time.Time // to the precision of the system; with PID, an identity
	Argv  []string  // nil where the system does not show it
}

// SurvivorsError is returned by Stop and Kill when the tree could not be proven
// gone: it lists who is still alive.
type SurvivorsError struct {
	Processes []Process

	// Err is the reason why the table of processes could not be read, or why a
	// process could not be signalled. May be nil.
	Err error
}

func (e *SurvivorsError) Error() string {
	const most = 8
	var b strings.Builder
	fmt.Fprintf(&b, "procgroup: not proven gone %v after KILL", killBound)
	for i, p := range e.Processes {
		if i == most {
			fmt.Fprintf(&b, ", and %d more", len(e.Processes)-most)
			break
		}
		program := ""
		if len(p.Argv) > 0 {
			program = fmt.Sprintf(" %q", p.Argv[0]) // never arguments: they may hold secrets
		}
		fmt.Fprintf(&b, ", pid %d%s (%s)", p.PID, program, p.State)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

func (e *SurvivorsError) Unwrap() error { return e.Err }
