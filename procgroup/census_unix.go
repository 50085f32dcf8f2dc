//go:build linux || darwin || freebsd

package procgroup

import (
	"slices"
	"sync"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// census finds the members of a tree in the table of processes: the group and
// session of the leader, all who carry the token, everybody who was once a member,
// and all their descendants.
type census struct {
	id      proctable.ID // of the leader; Start is 0 where it was not to be had
	session bool         // the leader has a session of its own
	token   string

	group func() bool // the system has a group of the leader's; nil: not to be asked
	list  func() ([]proctable.Process, error)

	mu     sync.Mutex
	seen   map[proctable.ID]bool // a member stays one when its parent dies
	quiet  time.Time             // of the first look that saw nobody alive
	unsure map[proctable.ID]bool // whose environment was empty then
}

func newCensus(leader int, session bool, token string) *census {
	c := &census{
		id:      proctable.ID{PID: leader},
		session: session,
		token:   token,
		list:    proctable.List,
		seen:    make(map[proctable.ID]bool),
		unsure:  make(map[proctable.ID]bool),
	}
	if p, err := proctable.Lookup(leader); err == nil {
		c.id = p.ID()
	}
	return c
}

// alive lists the live members. The descendants of the given processes, which are
// no members themselves, count as well.
func (c *census) alive(parents ...int) ([]proctable.Process, error) {
	all, err := c.list()
	if err != nil && len(all) == 0 {
		return nil, err // hidden rows are those of other users: see Limits
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	roots, doubtful, err := c.roots(all)
	if err != nil {
		return nil, err
	}
	members := roots
	pids := slices.Clone(parents)
	for _, p := range roots {
		pids = append(pids, p.PID)
	}
	members = append(members, proctable.Descendants(all, pids...)...)
	var alive []proctable.Process
	for _, p := range members {
		if slices.Contains(parents, p.PID) {
			continue
		}
		c.seen[p.ID()] = true
		if p.Alive() {
			alive = append(alive, p)
		}
	}
	if len(alive) == 0 && c.unsettled(doubtful) {
		return nil, errUnsettled
	}
	return alive, nil
}

// roots finds the members that do not need a parent to be recognised, and those
// of whom only the next look can tell.
func (c *census) roots(all []proctable.Process) (members, doubtful []proctable.Process, err error) {
	pinned := c.pinned(all)
	adopters := proctable.Adopters(all)
	for _, p := range all {
		if p.Start < c.id.Start {
			continue // older than the leader
		}
		mine := p.ID() == c.id || c.seen[p.ID()] ||
			pinned && (p.PGID == c.id.PID || c.session && p.SID == c.id.PID)
		if !mine {
			carries, err := proctable.Carrier(p, c.token)
			if err != nil {
				return nil, nil, err
			}
			mine = carries == proctable.Yes
			// A member's child is found by descent, whatever its environment.
			if carries == proctable.Unsure && adopters[p.PPID] {
				doubtful = append(doubtful, p)
			}
		}
		if mine {
			members = append(members, p)
		}
	}
	return members, doubtful, nil
}

// pinned tells whether the leader's number is still its own. Somebody else's wait4
// can let it go; then neither it nor the group of that number is ours any more,
// unless the system knows the group by a better name than its number.
func (c *census) pinned(all []proctable.Process) bool {
	if c.id.Start == 0 { // there was no descriptor to be had for a look at the start
		if p, err := proctable.Lookup(c.id.PID); err == nil {
			c.id = p.ID()
		}
	}
	for _, p := range all {
		if p.PID == c.id.PID {
			return p.ID() == c.id
		}
	}
	return c.group != nil && c.group()
}

// unsettled reports whether a doubtful process may still turn out to be a member.
// Those who come after nobody was left alive have no member for a parent.
func (c *census) unsettled(doubtful []proctable.Process) bool {
	if c.quiet.IsZero() {
		c.quiet = time.Now()
		for _, p := range doubtful {
			c.unsure[p.ID()] = true
		}
	}
	return time.Since(c.quiet) < proctable.UnsureBound && slices.ContainsFunc(doubtful, func(p proctable.Process) bool {
		return c.unsure[p.ID()]
	})
}
