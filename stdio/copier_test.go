package stdio

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// gate is a writer that blocks until it is opened.
type gate struct {
	entered, open chan struct{}
	once          sync.Once
	mu            sync.Mutex
	bytes.Buffer
}

func newGate() *gate { return &gate{entered: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.entered) })
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Buffer.Write(p)
}

func awaitClosed(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(40 * time.Second):
		t.Fatal("the copier does not end")
	}
}

// While the writer blocks, put does not, and what there is no room for is left
// out; a line says so where it is missing.
func TestCopierAnnouncesWhatIsDropped(t *testing.T) {
	g := newGate()
	c := newCopier(g, func(err error) { t.Errorf("fail: %v", err) })
	c.put([]byte("first\n"))
	<-g.entered // it is being written: what follows is held
	half := []byte(strings.Repeat("h", copierBytes/2))
	c.put(half)
	c.put(half)                // full
	c.put([]byte("dropped\n")) // 8 bytes
	c.put([]byte("as well\n")) // 8 bytes
	close(g.open)
	c.close()
	awaitClosed(t, c.done)
	got := g.String()
	require.Equal(t, "first\n"+strings.Repeat("h", copierBytes)+"\n[stdioguard: 16 bytes of stderr left out]\n", got)
}

// After the gap it goes on, and every byte was either written or counted.
func TestCopierGoesOnAfterAGap(t *testing.T) {
	g := newGate()
	c := newCopier(g, func(err error) { t.Errorf("fail: %v", err) })
	line := []byte(strings.Repeat("x", 1023) + "\n")
	const lines = 3000
	for i := range lines {
		if i == lines/2 {
			close(g.open)
		}
		c.put(line)
		if i == 0 {
			<-g.entered // the rest is held, and is too much
		}
	}
	c.close()
	awaitClosed(t, c.done)
	notice := regexp.MustCompile(`\n\[stdioguard: (\d+) bytes of stderr left out\]\n`)
	left := 0
	for _, m := range notice.FindAllStringSubmatch(g.String(), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		left += n
	}
	require.Positive(t, left)
	require.Equal(t, lines*len(line), left+strings.Count(g.String(), "x")+strings.Count(notice.ReplaceAllString(g.String(), ""), "\n"))
}

// Whatever a writer does, it is done with then: its bytes are let go, and nobody
// blocks. A panic, and the end of its goroutine, are told to the server.
func TestCopierWithAWriterThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		write writerFunc
		fails string
	}{
		"panic":       {func([]byte) (int, error) { panic("boom") }, "writer for stderr panicked: boom"},
		"Goexit":      {func([]byte) (int, error) { runtime.Goexit(); return 0, nil }, "writer for stderr did not return"},
		"error":       {func([]byte) (int, error) { return 0, errors.New("disk full") }, ""},
		"short write": {func(p []byte) (int, error) { return len(p) - 1, nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			var failed []string
			var copier *copier
			copier = newCopier(writerFunc(func(p []byte) (int, error) {
				calls++
				copier.put([]byte("meanwhile"))
				return c.write(p)
			}), func(err error) { failed = append(failed, err.Error()) })
			copier.put([]byte("one"))
			awaitClosed(t, copier.done)
			copier.put([]byte("two"))
			copier.close()
			require.Equal(t, 1, calls)
			require.Empty(t, copier.held)
			if c.fails == "" {
				require.Empty(t, failed)
			} else {
				require.Equal(t, []string{c.fails}, failed)
			}
		})
	}
}

// A writer that does not return is waited for until the time is over, or somebody
// is in a hurry.
func TestCopierIsNotWaitedForWithoutEnd(t *testing.T) {
	g := newGate()
	all := copiers{newCopier(g, nil), newCopier(g, nil)}
	all.put([]byte("x"))
	all.close()
	defer func() {
		close(g.open)
		awaitClosed(t, all[0].done)
		awaitClosed(t, all[1].done)
	}()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	all.wait(over, context.Background())
	all.wait(context.Background(), over) // as the context of those in a hurry
}
