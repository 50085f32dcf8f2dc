package stdio

import "sync"

// tailSize is how much of the end of stderr is kept.
const tailSize = 64 << 10

// tail keeps the end of what was written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailSize { // not at every write: that would copy it all each time
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailSize:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-tailSize):])
}

// drainStderr reads stderr until it ends, so that the server is never held up by
// it.
func (c *conn) drainStderr(ch *child) {
	buf := make([]byte, 4<<10)
	for {
		n, err := ch.stderr.Read(buf)
		ch.tail.Write(buf[:n])
		c.copied.put(buf[:n])
		if err != nil {
			return // there is nothing to be said about it that stdout does not say
		}
	}
}
