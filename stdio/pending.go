package stdio

import (
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// pending holds the calls that were sent and not answered.
type pending struct {
	mu  sync.Mutex
	ids map[jsonrpc.ID]struct{}
}

// sent notes a call, and forgets one that the client has given up: nobody waits
// for its answer, and it may never come.
func (p *pending) sent(r *jsonrpc.Request) {
	if r.Method == methodCancelled {
		var params struct {
			RequestID any `json:"requestId"`
		}
		if json.Unmarshal(r.Params, &params) == nil {
			if id, err := jsonrpc.MakeID(params.RequestID); err == nil {
				p.answered(id)
			}
		}
		return
	}
	if !r.IsCall() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids == nil {
		p.ids = make(map[jsonrpc.ID]struct{})
	}
	p.ids[r.ID] = struct{}{}
}

func (p *pending) answered(id jsonrpc.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ids, id)
}

func (p *pending) has(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, waits := p.ids[id]
	return waits
}

func (p *pending) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids)
}

// pop takes out any one of the calls.
func (p *pending) pop() (id jsonrpc.ID, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.ids {
		delete(p.ids, id)
		return id, true
	}
	return id, false
}
