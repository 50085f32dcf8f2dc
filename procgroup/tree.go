package procgroup

import (
	"errors"
	"os"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// A tree is one way to own the processes of one command. There is one
// implementation per kind of system; Group, which owns the tree, neither knows
// nor asks which.
//
// signal and alive are safe for concurrent use. None of them
// blocks for longer than the system needs to answer.
type tree interface {
	// pid is the leader's.
	pid() int

	// leaderEnded is closed as soon as the leader has ended.
	leaderEnded() <-chan struct{}

	// exited is closed when the child of the host has ended and before it is
	// reaped: its PID still means it and nobody else. The child is the leader, or
	// its guardian, which ends when the tree is gone.
	exited() <-chan struct{}

	// signal sends sig to the whole group at once, and one by one to those of the
	// given strays that are not in the group any more. It does not wait. Nobody
	// left to receive it is no error. errors.ErrUnsupported: the system has no
	// such signal.
	signal(sig os.Signal, strays []proctable.Process) error

	// terminate sends SIGTERM to the whole tree, also to those of it that are
	// stopped, and to its strays, as far as it can find them. It is otherwise like
	// signal.
	terminate() error

	// alive lists the live members of the tree, escapees included as far as the
	// mechanism can find them. An error means that the list may be incomplete.
	alive() ([]proctable.Process, error)

	// containment says what was achieved.
	containment() Containment

	// lost is the reason why the tree ended that its leader's status does not
	// tell, or nil. It is asked for after exited.
	lost() error

	// release gives back what the tree holds of the system. It is called once,
	// after the last call of any other method.
	release()
}

// errUnsettled: nobody was found alive, but that may be different in a moment.
var errUnsettled = errors.New("a process of the tree may be between two programs")
