package procgroup

import (
	"errors"
	"os"
	"os/exec"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// LeaderOnly returns c with the protection off: the leader alone is signalled and
// looked for, as os/exec does. A kill test that passes with it proves nothing.
func LeaderOnly(c Config) Config {
	c.NoGuardian = true
	c.wrap = func(cmd *exec.Cmd, t tree) tree { return leaderOnly{t, cmd} }
	return c
}

type leaderOnly struct {
	tree
	cmd *exec.Cmd
}

func (l leaderOnly) signal(sig os.Signal, _ []proctable.Process) error {
	if err := l.cmd.Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (l leaderOnly) alive() ([]proctable.Process, error) {
	p, err := proctable.Lookup(l.cmd.Process.Pid)
	if err != nil || !p.Alive() {
		return nil, nil
	}
	return []proctable.Process{p}, nil
}

// Gated returns c with an owner that does not look at the tree before the gate is
// opened: time for a test to change the world behind a leader's end.
func Gated(c Config, gate <-chan struct{}) Config {
	c.wrap = func(_ *exec.Cmd, t tree) tree { return gated{t, gate} }
	return c
}

type gated struct {
	tree
	gate <-chan struct{}
}

func (g gated) alive() ([]proctable.Process, error) {
	<-g.gate
	return g.tree.alive()
}
