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

	mu     sync.Mutex
	seen   map[proctable.ID]bool      // a member stays one when its parent dies
	unsure map[proctable.ID]time.Time // since when its environment is empty
}

// unsureBound is how long an empty environment may be that of a process inside
// execve. After it, it belongs to a stranger who likes it empty.
const unsureBound = 50 * time.Millisecond

func newCensus(leader int, session bool, token string) *census {
	c := &census{
		id:      proctable.ID{PID: leader},
		session: session,
		token:   token,
		seen:    make(map[proctable.ID]bool),
		unsure:  make(map[proctable.ID]time.Time),
	}
	if p, err := proctable.Lookup(leader); err == nil {
		c.id = p.ID()
	}
	return c
}

// alive lists the live members. The descendants of the given processes, which are
// no members themselves, count as well.
func (c *census) alive(parents ...int) ([]proctable.Process, error) {
	all, err := proctable.List()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	unsure := false
	members, roots := c.roots(all, &unsure)
	var alive []proctable.Process
	members = append(members, proctable.Descendants(all, append(roots, parents...)...)...)
	for _, p := range members {
		if slices.Contains(parents, p.PID) {
			continue
		}
		c.seen[p.ID()] = true
		if p.Alive() {
			alive = append(alive, p)
		}
	}
	if unsure && len(alive) == 0 {
		return nil, errUnsettled
	}
	return alive, nil
}

// roots finds the members that do not need a parent to be recognised.
func (c *census) roots(all []proctable.Process, unsure *bool) (members []proctable.Process, pids []int) {
	// Somebody else's wait4 can let the leader's number go. Then neither it nor
	// the group of that number is ours any more.
	pinned := false
	for _, p := range all {
		pinned = pinned || p.ID() == c.id
	}
	for _, p := range all {
		if p.Start < c.id.Start {
			continue // older than the leader
		}
		mine := p.ID() == c.id || c.seen[p.ID()] ||
			pinned && (p.PGID == c.id.PID || c.session && p.SID == c.id.PID) ||
			c.carries(p, unsure)
		if mine {
			members = append(members, p)
			pids = append(pids, p.PID)
		}
	}
	return members, pids
}

func (c *census) carries(p proctable.Process, unsure *bool) bool {
	switch proctable.Carrier(p, c.token) {
	case proctable.Yes:
		return true
	case proctable.Unsure:
		since, known := c.unsure[p.ID()]
		if !known {
			since = time.Now()
			c.unsure[p.ID()] = since
		}
		*unsure = *unsure || time.Since(since) < unsureBound
	}
	return false
}
