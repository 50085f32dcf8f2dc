package stdio

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// handshake follows the messages of a connection until the server is ready, and
// fails the connection if that takes too long.
//
// A success of server/discover does not end it for good: a client that shares no
// version with the server goes on with initialize, and the server is unready
// again until that is done.
type handshake struct {
	mu       sync.Mutex
	ready    bool
	awaited  jsonrpc.ID // the request whose success counts
	method   string
	accepted bool  // initialize was answered with success
	batches  bool  // and agreed on a version that has them
	probed   bool  // ready by server/discover, and initialize may still follow
	expired  error // the time is over; counts only while not ready

	fail   func(error)
	disarm func()
}

const (
	methodDiscover    = "server/discover"
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
)

// arm bounds the handshake by ctx and by patience.
func (h *handshake) arm(ctx context.Context, patience time.Duration, fail func(error)) {
	h.fail = fail
	stop := context.AfterFunc(ctx, func() { h.expire(ctx.Err()) })
	timer := time.AfterFunc(patience, func() { h.expire(ErrHandshakeTimeout) })
	h.disarm = func() {
		stop()
		timer.Stop()
	}
}

func (h *handshake) expire(reason error) {
	h.mu.Lock()
	if h.expired == nil {
		h.expired = reason
	}
	ready := h.ready
	h.mu.Unlock()
	if !ready { // and never will be: see written
		h.fail(reason)
	}
}

func (h *handshake) isReady() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ready
}

// wasCancelled reports whether the context of Connect has ended it.
func (h *handshake) wasCancelled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.ready && isContextError(h.expired)
}

// isFresh reports whether the server is neither ready nor was asked to initialize.
func (h *handshake) isFresh() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.ready && !h.accepted && h.method != methodInitialize
}

// sent sees a request before it is written. Once the server is ready, only the
// initialize that may follow a probe counts.
func (h *handshake) sent(r *jsonrpc.Request) {
	if r.Method != methodDiscover && r.Method != methodInitialize {
		return
	}
	h.mu.Lock()
	if h.ready && !(h.probed && r.Method == methodInitialize) {
		h.mu.Unlock()
		return
	}
	h.ready, h.accepted, h.probed, h.batches = false, false, false, false
	h.awaited, h.method = r.ID, r.Method
	expired := h.expired
	h.mu.Unlock()
	if expired != nil {
		h.fail(expired)
	}
}

// answered sees a response when the client gets it, and reports whether it makes
// the server ready.
func (h *handshake) answered(r *jsonrpc.Response) (ready bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.method == "" || r.ID != h.awaited || r.Error != nil || h.expired != nil {
		return false
	}
	h.probed = h.method == methodDiscover
	h.ready = h.probed
	h.accepted = h.method == methodInitialize
	h.batches = h.accepted && allowsBatches(r.Result)
	h.method = ""
	return h.ready
}

// written sees a request after it was written, and reports whether it makes the
// server ready. Where the time was over before, the server is being killed, and
// the error is the reason.
func (h *handshake) written(r *jsonrpc.Request) (ready bool, err error) {
	if r.Method != methodInitialized {
		return false, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ready && h.expired != nil {
		return false, h.expired
	}
	ready = !h.ready && h.accepted
	h.ready = h.ready || h.accepted
	return ready, nil
}

// allowBatches reports whether the server may send an array of messages. Nothing
// forbids it until a version is agreed on.
func (h *handshake) allowBatches() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.batches || !h.accepted && !h.ready
}

// allowsBatches reports whether the result of initialize agrees on a version with
// batches: they came in 2025-03-26 and were removed in 2025-06-18 (MCP, Key
// Changes of these revisions). Versions are dates, and older ones allow what
// JSON-RPC does.
func allowsBatches(result json.RawMessage) bool {
	var agreed struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	return json.Unmarshal(result, &agreed) == nil && agreed.ProtocolVersion < "2025-06-18"
}
