package procgroup

import (
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// A verifier decides when "nobody alive" may be believed: after two looks in a
// row. A single one can fall between the birth of a child and the death of the
// parent it was listed under.
type verifier struct {
	clean int
	wait  time.Duration
}

func (v *verifier) gone(alive []proctable.Process, err error) bool {
	if len(alive) > 0 || err != nil {
		v.clean = 0
		return false
	}
	v.clean++
	return v.clean == 2
}

// step grows from 1 ms to 32 ms: quick where all goes well, and no load on the
// machine where a tree takes its time.
func (v *verifier) step() time.Duration {
	if v.clean > 0 {
		return 0
	}
	v.wait = min(max(2*v.wait, time.Millisecond), 32*time.Millisecond)
	return v.wait
}
