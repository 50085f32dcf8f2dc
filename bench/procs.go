package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"time"

	gocmdlib "github.com/go-cmd/cmd"
	leaklesslib "github.com/ysmood/leakless"

	"github.com/stdioguard/stdioguard/procgroup"
)

// A starter starts a command in the way of one column.
type starter func(ctx context.Context, cmd *exec.Cmd) (*running, error)

// running is a started command.
type running struct {
	keeper int                           // the process that a column puts between, if it does
	kill   func() (proven bool, _ error) // as hard as the column can
	wait   func()
}

var starters = map[string]starter{
	ours:     guarded(procgroup.Config{}),
	gocmd:    startGoCmd,
	leakless: startLeakless,
	plain:    startPlain,
}

func guarded(config procgroup.Config) starter {
	return func(ctx context.Context, cmd *exec.Cmd) (*running, error) {
		g, err := config.Start(ctx, cmd)
		if err != nil {
			return nil, err
		}
		r := &running{
			kill: func() (bool, error) { return true, g.Kill() },
			wait: func() { g.Wait() },
		}
		if cmd.Process.Pid != g.Pid() {
			r.keeper = cmd.Process.Pid
		}
		return r, nil
	}
}

// startPlain is os/exec as one who knows about groups uses it.
func startPlain(_ context.Context, cmd *exec.Cmd) (*running, error) {
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &running{
		kill: func() (bool, error) { return false, killGroup(cmd.Process.Pid) },
		wait: func() { cmd.Wait() },
	}, nil
}

// startGoCmd gives go-cmd the files of cmd in place of its own buffers, so that all
// columns do the same work. Its Stop sends SIGTERM to the group; it has nothing harder.
func startGoCmd(_ context.Context, cmd *exec.Cmd) (*running, error) {
	c := gocmdlib.NewCmdOptions(gocmdlib.Options{BeforeExec: []func(*exec.Cmd){func(inner *exec.Cmd) {
		inner.Stdin, inner.Stdout, inner.Stderr = cmd.Stdin, cmd.Stdout, cmd.Stderr
	}}}, cmd.Path, cmd.Args[1:]...)
	c.Env = cmd.Env
	status := c.Start()
	for c.Status().PID == 0 { // it starts in the background, and tells nobody when it has
		select {
		case s := <-status:
			if s.PID == 0 {
				return nil, fmt.Errorf("go-cmd: not started: %w", s.Error)
			}
		case <-time.After(50 * time.Microsecond):
		}
	}
	return &running{
		kill: func() (bool, error) { return false, c.Stop() },
		wait: func() { <-c.Done() },
	}, nil
}

// startLeakless starts a command behind leakless' own helper, a binary that it
// unpacks into the directory for temporary files: ours, see the outer process. The
// kill is that of its users: of the group that the helper made.
func startLeakless(ctx context.Context, cmd *exec.Cmd) (*running, error) {
	if !leaklesslib.Support() {
		return nil, errors.New("leakless has no helper for this system")
	}
	l := leaklesslib.New()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	l.Lock = port // a fixed one by default, on which two benchmarks would meet
	helper := l.Command(cmd.Path, cmd.Args[1:]...)
	helper.Stdin, helper.Stdout, helper.Stderr, helper.Env = cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env
	if err := helper.Start(); err != nil {
		return nil, err
	}
	cmd.Process = helper.Process
	select {
	case pid := <-l.Pid():
		if pid <= 1 {
			helper.Wait()
			return nil, fmt.Errorf("leakless: %s", l.Err())
		}
		return &running{
			keeper: helper.Process.Pid,
			kill:   func() (bool, error) { return false, killGroup(pid) },
			wait:   func() { helper.Wait() },
		}, nil
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	helper.Process.Kill()
	helper.Wait()
	return nil, errors.New("leakless: its helper did not report")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
