package stdio

import (
	"strings"
	"sync"
)

// The bounds of what a server may print on stdout that is no message, in a row.
const (
	noiseLines = 10_000
	noiseBytes = 16 << 20
	noiseKept  = 256 // bytes of the first line
)

// noise keeps account of the lines on stdout that are no messages.
type noise struct {
	mu           sync.Mutex
	line         string // the first one
	lines, bytes int    // since the last message
}

// heard reports whether it is too much.
func (n *noise) heard(line []byte) (flood bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.line == "" {
		n.line = strings.ToValidUTF8(string(line[:min(len(line), noiseKept)]), "")
	}
	n.lines++
	n.bytes += len(line)
	return n.lines > noiseLines || n.bytes > noiseBytes
}

func (n *noise) quiet() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines, n.bytes = 0, 0
}

func (n *noise) first() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.line
}
