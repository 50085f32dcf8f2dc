package stdio

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// NoisePolicy says what becomes of a server that prints lines on stdout that are
// no JSON-RPC messages.
type NoisePolicy int

const (
	// SkipNoise skips them, and fails a server that prints more than 10,000 of
	// them, or 16 MiB, with no message between.
	SkipNoise NoisePolicy = iota
	// FailOnNoise fails it at the first one. What was read with that is still
	// counted and told to OnNoise.
	FailOnNoise
)

const (
	noiseLines = 10_000
	noiseBytes = 16 << 20
	noiseKept  = 256 // bytes of the first line
)

var (
	errFlood      = fmt.Errorf("%w: a flood of them", ErrNoise)
	errIntolerant = fmt.Errorf("%w, and FailOnNoise is set", ErrNoise)
)

// noise keeps account of the lines on stdout that are no messages.
type noise struct {
	mu           sync.Mutex
	line         string // the first one
	all          int    // how many there were
	lines, bytes int    // since the last message
	flooded      bool   // it was too much: what comes until the server is dead does not count
}

// heard reports whether this was the first one, and whether it is too much.
func (n *noise) heard(line []byte) (first, flood bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.flooded {
		return false, false
	}
	if n.all == 0 {
		n.line = strings.ToValidUTF8(string(line[:min(len(line), noiseKept)]), "")
	}
	n.all++
	n.lines++
	n.bytes += len(line)
	n.flooded = n.lines > noiseLines || n.bytes > noiseBytes
	return n.all == 1, n.flooded
}

func (n *noise) quiet() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines, n.bytes = 0, 0
}

// account returns the first line and how many there were.
func (n *noise) account() (string, int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.line, n.all
}

// noisy sees to a line that is no message.
func (c *conn) noisy(ch *child, line []byte) {
	first, flood := ch.noise.heard(line)
	if first {
		c.events.noise(line)
	}
	if hook := c.transport.OnNoise; hook != nil {
		isolated("OnNoise", c.fail, func() { hook(bytes.Clone(line)) })
	}
	switch {
	case c.transport.Noise == FailOnNoise:
		c.fail(errIntolerant)
	case flood:
		c.fail(errFlood)
	}
}
