package leakcheck

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

const (
	// defaultWithin is long enough for a process that was told to go to go.
	defaultWithin = 2 * time.Second

	// On a machine that is so busy with other tests that this process hardly gets a
	// turn, it is not. The number of looks tells: there it goes on until they are as many as
	// that, or patience is over. An idle machine gets there in less than two seconds.
	defaultLooks = 30
	patience     = 10 * time.Second
)

// An Option changes what is looked for.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

type config struct {
	within    time.Duration
	looks     int // at least that many, unless patience is over
	keepAlive bool
	ignore    map[proctable.ID]bool
	commands  []string
}

func newConfig(opts []Option) *config {
	c := &config{within: defaultWithin, looks: defaultLooks, ignore: make(map[proctable.ID]bool)}
	for _, o := range opts {
		o.apply(c)
	}
	return c
}

func (c *config) ignored(p proctable.Process) bool {
	if c.ignore[p.ID()] {
		return true
	}
	if len(c.commands) == 0 {
		return false
	}
	argv := proctable.Argv(p.PID)
	if len(argv) == 0 || !slices.Contains(c.commands, filepath.Base(argv[0])) {
		return false
	}
	janitor.spare(p.ID())
	return true
}

// IgnoreCurrent ignores the processes that are there when it is called, as
// opposed to when the check is made.
func IgnoreCurrent() Option {
	leaks, _, _ := newSearch(scope{}, nil).look() // if it cannot look, neither can the check
	return option(func(c *config) {
		for _, l := range leaks {
			c.ignore[l.id] = true
		}
	})
}

// IgnorePID ignores one process: the one that has this PID when IgnorePID is
// called. A later holder of the same number is not ignored.
func IgnorePID(pid int) Option {
	p, err := proctable.Lookup(pid)
	return option(func(c *config) {
		if err == nil {
			c.ignore[p.ID()] = true
		}
	})
}

// IgnoreCommand ignores processes whose program, argv[0] without its directory,
// has this name. A zombie has no argv any more and is not ignored by it. What was ignored
// by it lives on even if the test binary is cut off.
func IgnoreCommand(name string) Option {
	return option(func(c *config) { c.commands = append(c.commands, name) })
}

// Within bounds the time that processes may take to be gone. The default is 2 s, and
// more only where the machine is so busy that this process hardly gets a turn. With 0 or less
// there is one look and no second, unless a process is met that is just being
// started: that is looked at again for up to 50 ms.
func Within(d time.Duration) Option {
	return option(func(c *config) { c.within, c.looks = d, 0 })
}

// KeepAlive leaves the processes that were found running, to be looked at with
// other tools. It has no effect on Find, which kills nothing anyway.
func KeepAlive() Option {
	return option(func(c *config) { c.keepAlive = true })
}
