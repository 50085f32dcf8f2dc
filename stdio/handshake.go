package stdio

import (
	"context"
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
	probed   bool  // ready by server/discover, and initialize may still follow
	expired  error // the time is over; counts only while not ready

	fail   func(error)
	disarm func()
}

const (
	methodDiscover    = "server/discover"
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
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
	h.ready, h.accepted, h.probed = false, false, false
	h.awaited, h.method = r.ID, r.Method
	expired := h.expired
	h.mu.Unlock()
	if expired != nil {
		h.fail(expired)
	}
}

// answered sees a response when the client gets it.
func (h *handshake) answered(r *jsonrpc.Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.method == "" || r.ID != h.awaited || r.Error != nil || h.expired != nil {
		return
	}
	h.probed = h.method == methodDiscover
	h.ready = h.probed
	h.accepted = h.method == methodInitialize
	h.method = ""
}

// written sees a request after it was written. Where the time was over before, the
// server is being killed, and the error is the reason.
func (h *handshake) written(r *jsonrpc.Request) error {
	if r.Method != methodInitialized {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ready && h.expired != nil {
		return h.expired
	}
	h.ready = h.ready || h.accepted
	return nil
}
