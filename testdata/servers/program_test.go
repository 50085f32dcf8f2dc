//go:build unix

package servers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Many programs are written and executed at the same time, and none of them is busy.
func TestWriteProgram(t *testing.T) {
	const goroutines, rounds = 16, 25
	dir := t.TempDir()
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for round := range rounds {
				path := filepath.Join(dir, fmt.Sprintf("program-%d-%d", g, round))
				if !assert.NoError(t, WriteProgram(path, []byte("#!/bin/sh\nexit 0\n"), 0o755)) ||
					!assert.NoError(t, exec.Command(path).Run()) {
					return
				}
			}
		})
	}
	all.Wait()
}
