package leakcheck

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// The angles that a process is found from. Each is a proof that this process, or
// one that it started, has started it.
const (
	asChild      = "child"
	asDescendant = "descendant"
	asZombie     = "zombie: started here, never waited for"
	asCarrier    = "token carrier"
	asOrphan     = "orphan: re-parented, carries the token of this process"
	asSeen       = "orphan: re-parented, a descendant at the look before"
	asAdopted    = "adopted: an orphan that came to this process"
	asSession    = "same session: one that was started here"
	asGroup      = "same group: one that was started here"

	// Where orphans come to this process, a child of its own cannot be told from one
	// that it has adopted.
	asReapersChild = "child, or adopted: orphans come to this process"
)

// view is one look at the table.
type view struct {
	all      []proctable.Process
	rows     map[int]proctable.Process
	me       proctable.Process
	adopters map[int]bool
	environs map[int]environ

	known, next map[proctable.ID]bool // strangers: before this look, and after it
}

type environ struct {
	text  string
	shown proctable.Carries
}

func newView(all []proctable.Process, self int) *view {
	v := &view{
		all:      all,
		rows:     make(map[int]proctable.Process, len(all)),
		adopters: proctable.Adopters(all),
		environs: make(map[int]environ),
		next:     make(map[proctable.ID]bool),
	}
	for _, p := range all {
		v.rows[p.PID] = p
	}
	v.me = v.rows[self]
	return v
}

// environ reads the environment of a process once.
func (v *view) environ(p proctable.Process) (environ, error) {
	if e, found := v.environs[p.PID]; found {
		return e, nil
	}
	text, shown, err := proctable.Environment(p)
	if err != nil {
		return environ{}, err
	}
	v.environs[p.PID] = environ{text, shown}
	return v.environs[p.PID], nil
}

// family is a set of processes that belong together, and how each was found.
type family struct {
	*view
	how     map[int]string
	members []proctable.Process

	// unsure: a process was seen that may be inside execve, where it has no
	// environment. It tells at the next look.
	unsure bool
}

func newFamily(v *view) *family {
	return &family{view: v, how: make(map[int]string)}
}

func (f *family) add(p proctable.Process, how string) {
	if f.how[p.PID] == "" && p.PID != f.me.PID {
		f.how[p.PID] = how
		f.members = append(f.members, p)
	}
}

// addOwn adds all that descend from this process. Somebody else's zombie is not ours
// to wait for, and to a reaper come the zombies of others.
func (f *family) addOwn(seen map[proctable.ID]int, reaper bool) {
	for _, p := range proctable.Descendants(f.all, f.me.PID) {
		before, known := seen[p.ID()]
		switch own := p.PPID == f.me.PID; {
		case own && !p.Alive():
			if !reaper {
				f.add(p, asZombie)
			}
		case own && known && before != f.me.PID:
			f.add(p, asAdopted)
		case own && reaper:
			f.add(p, asReapersChild)
		case own:
			f.add(p, asChild)
		case p.Alive():
			f.add(p, asDescendant)
		}
	}
}

// addCarriers adds all whose tokens are as wanted. Nobody has any who is older than
// this process: that is most on a machine, and they are not read.
func (f *family) addCarriers(wanted func(tokens []string) bool) error {
	for _, p := range f.all {
		if !p.Alive() || p.Start < f.me.Start || f.how[p.PID] != "" || p.PID == f.me.PID {
			continue
		}
		if f.isStranger(p) {
			continue
		}
		e, err := f.environ(p)
		if err != nil {
			return err
		}
		f.remember(p, e)
		switch {
		case e.shown == proctable.Unsure && (f.adopters[p.PPID] || p.PPID == f.me.PID):
			f.unsure = true
		case e.shown != proctable.Yes || !wanted(proctable.Tokens(e.text)):
		case p.PPID == f.me.PID:
			f.add(p, asChild)
		case f.adopters[p.PPID]:
			f.add(p, asOrphan)
		default:
			f.add(p, asCarrier)
		}
	}
	return nil
}

// knownStrangers are those whose environment was read once and had no token of this
// process. They need not be read again: no program that one of them may become
// is given it.
var knownStrangers atomic.Pointer[map[proctable.ID]bool]

// settled is the age at which a process has become what it was started for. Before that its
// environment may be that of whoever has started it.
const settled = 2 * time.Second

func (v *view) isStranger(p proctable.Process) bool {
	if v.known[p.ID()] && p.PPID != v.me.PID {
		v.next[p.ID()] = true
		return true
	}
	return false
}

func (v *view) remember(p proctable.Process, e environ) {
	if e.shown == proctable.Yes && p.PPID != v.me.PID && time.Since(p.Started()) > settled &&
		!slices.Contains(proctable.Tokens(e.text), token) {
		v.next[p.ID()] = true
	}
}

// addSeen adds those who were members at the look before, whatever has become of
// their parents since.
func (f *family) addSeen(seen map[proctable.ID]int) {
	for _, p := range f.all {
		if _, known := seen[p.ID()]; known && p.Alive() {
			f.add(p, asSeen)
		}
	}
}

// addKin adds whoever descends from a member or shares a session or group with one,
// until there is nobody new.
//
// An origin that could not be read proves nothing. One with the numbers 0 does: so
// shows, in a namespace of PIDs, a session or group that was begun outside.
func (f *family) addKin(origin proctable.Process) {
	known := origin.PID != 0
	for before := 0; before < len(f.members); {
		before = len(f.members)
		roots := make([]int, 0, before)
		sessions, groups := make(map[int]bool), make(map[int]bool)
		for _, m := range f.members {
			roots = append(roots, m.PID)
			sessions[m.SID] = known && f.startedHere(m.SID, origin.SID, f.me.SID)
			groups[m.PGID] = known && f.startedHere(m.PGID, origin.PGID, f.me.PGID)
		}
		for _, p := range proctable.Descendants(f.all, roots...) {
			if p.Alive() {
				f.add(p, asDescendant)
			}
		}
		for _, p := range f.all {
			switch {
			case !p.Alive() || p.Start < f.me.Start:
			case sessions[p.SID]:
				f.add(p, asSession)
			case groups[p.PGID] && f.adopters[p.PPID]:
				f.add(p, asGroup)
			}
		}
	}
}

// startedHere tells whether a session, or a group, in which a member was found began
// with a member. A process comes into a session by fork and in no other way, so whoever
// is in one that this process was never in, and that somebody whom it started has
// begun, descends from him. Into a group one can be put as well, by a process of
// the same session: of a group only orphans are taken.
//
// The number is its leader's, and not given away before the last member is gone.
func (f *family) startedHere(number, atInit, now int) bool {
	leader, there := f.rows[number]
	return number > 1 && number != atInit && number != now && (!there || f.how[leader.PID] != "")
}
