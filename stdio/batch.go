package stdio

import (
	"bytes"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// batches remembers the calls that came in an array: their answers are to go in
// one, too (JSON-RPC 2.0, section 6).
type batches struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]*batch
}

type batch struct {
	missing int
	answers [][]byte
}

// add notes the calls of an array before any of them can be answered. An id that
// is open already stays with its own array.
func (b *batches) add(calls []jsonrpc.ID) {
	if len(calls) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		b.open = make(map[jsonrpc.ID]*batch)
	}
	all := &batch{}
	for _, id := range calls {
		if b.open[id] == nil {
			b.open[id] = all
			all.missing++
		}
	}
}

// collect returns what is to be sent when a call was answered: the answer itself,
// or nothing, or the answers of a whole array.
func (b *batches) collect(id jsonrpc.ID, answer []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.open[id]
	if all == nil {
		return answer
	}
	delete(b.open, id)
	all.answers = append(all.answers, answer)
	all.missing--
	if all.missing > 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(all.answers, []byte(",")), []byte("]"))
}

// deliverBatch delivers the messages of an array, if line is one that has any. What
// else is in it is noise.
func (c *conn) deliverBatch(ch *child, line []byte) bool {
	if line[0] != '[' || !c.handshake.allowBatches() {
		return false
	}
	parts, ok := elements(line)
	if !ok {
		return false
	}
	// All calls must be known before the first can be answered. The messages are
	// decoded once more then: a long line of short ones would take many times its
	// size.
	var calls []jsonrpc.ID
	messages := 0
	for part := range parts {
		if c.isUnheard() {
			return true
		}
		msg, err := decode(part, false)
		if err != nil {
			continue
		}
		messages++
		if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
			calls = append(calls, r.ID)
		}
	}
	if messages == 0 {
		return false
	}
	c.batches.add(calls)
	for part := range parts {
		if c.isUnheard() {
			return true
		}
		c.receiveOne(ch, part, false)
	}
	return true
}
