package procgroup

import "strings"

// Mechanism is the way in which a tree is held together.
type Mechanism string

// The mechanisms, the strongest last.
const (
	MechanismDirect   Mechanism = "direct"     // the leader is a child of the host
	MechanismGuardian Mechanism = "guardian"   // a process between host and leader owns the tree
	MechanismCgroup   Mechanism = "cgroup"     // a guardian, and a control group for the server
	MechanismJob      Mechanism = "job object" // Windows
)

// Reach is how far Kill, and the sweep after the leader's end, are sure to come.
type Reach string

// The reaches, the farthest last.
const (
	ReachGroup   Reach = "group"                   // the process group; strays as far as they are found
	ReachTree    Reach = "tree"                    // all descendants, whatever they did to get away
	ReachAnyUser Reach = "tree, whatever its user" // and those that have become root
)

// Containment says what holds for one tree: not what was asked for, but what this
// system, with the rights that the host has, gave.
type Containment struct {
	Mechanism Mechanism
	Reach     Reach
	HostDeath bool     // the tree ends with the host, however that dies
	Gaps      []string // who gets away, and why nothing better could be had; in words
}

// String returns all of it on one line.
func (c Containment) String() string {
	death := "host death not covered"
	if c.HostDeath {
		death = "host death covered"
	}
	line := string(c.Mechanism) + ": reaches the " + string(c.Reach) + ", " + death
	if len(c.Gaps) > 0 {
		line += "; gaps: " + strings.Join(c.Gaps, "; ")
	}
	return line
}

// gapDaemons is common to all that hold a tree of processes.
const gapDaemons = "what another daemon starts on request (containers, systemd units, at jobs) is not of the tree"
