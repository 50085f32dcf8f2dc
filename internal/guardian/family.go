package guardian

// Where the orphans of a tree come to nobody in particular, as on macOS, it is
// found in the table of processes, and remembered.

// lookMillis is the least time between two looks at the table while the tree
// forks. Each costs about a millisecond.
const lookMillis = 10

// row is what counts here of a process.
type row struct {
	pid, parent, group int
	start              uint64
	zombie             bool
}

// The layout of struct kinfo_proc, sys/sysctl.h of macOS.
const (
	rowSize   = 648
	rowStart  = 0 // 64 bits of seconds, 32 bits of microseconds
	rowStat   = 36
	rowPid    = 40
	rowParent = 560
	rowGroup  = 564

	statZombie = 5 // SZOMB of sys/proc.h
)

// parseRows decodes what sysctl kern.proc.all answers. Package syscall takes off
// the last byte of it where that is zero, as if it were a string.
func parseRows(raw string) (rows []row, ok bool) {
	if (len(raw)+1)%rowSize == 0 {
		raw += "\x00"
	}
	if len(raw) == 0 || len(raw)%rowSize != 0 {
		return nil, false
	}
	for ; len(raw) > 0; raw = raw[rowSize:] {
		b := []byte(raw[:rowSize])
		rows = append(rows, row{
			pid:    int(int32(get32(b[rowPid:]))),
			parent: int(int32(get32(b[rowParent:]))),
			group:  int(int32(get32(b[rowGroup:]))),
			start:  uint64(get32(b[rowStart:]))*1e6 + uint64(get32(b[rowStart+8:])),
			zombie: b[rowStat] == statZombie,
		})
	}
	return rows, true
}

// has tells whether the table has a live process like that one: what is read of a
// process whose parent and group are known shows whether the layout is right.
func has(rows []row, want row) bool {
	for _, r := range rows {
		if r.pid == want.pid {
			return r.parent == want.parent && r.group == want.group && r.start != 0 && !r.zombie
		}
	}
	return false
}

// family is everybody of a tree who was seen, by pid, with the time of his start.
type family map[int]uint64

// look returns the live members: the leader, his group, who was one before, and
// all that descend from them. It remembers them, and returns those who are new as
// well. Leader is 0 where there is none any more.
func (f family) look(rows []row, leader int) (members, found []row) {
	children := make(map[int][]row)
	var queue []row
	old := make(map[int]bool)
	for _, r := range rows {
		start, known := f[r.pid]
		switch {
		case leader > 1 && (r.pid == leader || r.group == leader), known && start == r.start:
			queue = append(queue, r)
			old[r.pid] = known && start == r.start
		default:
			children[r.parent] = append(children[r.parent], r)
		}
	}
	clear(f)
	for ; len(queue) > 0; queue = queue[1:] {
		r := queue[0]
		if _, twice := f[r.pid]; twice {
			continue
		}
		if !r.zombie {
			f[r.pid] = r.start
			members = append(members, r)
			if !old[r.pid] {
				found = append(found, r)
			}
		}
		queue = append(queue, children[r.pid]...)
		delete(children, r.pid)
	}
	return members, found
}

// steady makes of a clock that may be set one that only goes on. It hardly moves
// for what looks like a jump: backwards, or farther than anybody here waits when
// he waits for a time.
type steady struct{ last, sum int64 }

const jumpMillis = 5000

func (s *steady) at(wall int64) int64 {
	d := wall - s.last
	if d < 0 || d >= jumpMillis {
		d = lookMillis
	}
	s.last = wall
	s.sum += d
	return s.sum
}
