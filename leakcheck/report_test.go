package leakcheck

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReportIsATree(t *testing.T) {
	now := time.Now()
	e := &LeakError{Leaks: []Leak{
		{PID: 30, PPID: 20, PGID: 10, State: "sleeping", Start: now, How: "descendant", Argv: []string{"node", "server.js"}},
		{PID: 10, PPID: 1, PGID: 10, State: "sleeping", Start: now, How: "child", Argv: []string{"npx", "-y"}},
		{PID: 20, PPID: 10, PGID: 10, State: "stopped", Start: now, How: "descendant", Argv: []string{"sh", "-c", "a\x1b[31mb\n"}},
		{PID: 40, PPID: 1, PGID: 40, State: "sleeping", Start: now, How: "orphan"},
	}}
	require.Equal(t, `leakcheck: 4 processes were left behind:
    pid 10  ppid 1  pgid 10  sleeping  for 0s  (child)  "npx" "-y"
      pid 20  ppid 10  pgid 10  stopped  for 0s  (descendant)  "sh" "-c" "a\x1b[31mb\n"
        pid 30  ppid 20  pgid 10  sleeping  for 0s  (descendant)  "node" "server.js"
    pid 40  ppid 1  pgid 40  sleeping  for 0s  (orphan)  ?`, e.Error())
}

func TestReportIsBounded(t *testing.T) {
	var e LeakError
	for i := range 5000 {
		e.Leaks = append(e.Leaks, Leak{PID: 100 + i, PPID: 99 + i, Start: time.Now(), Argv: []string{strings.Repeat("x", 10_000)}})
	}
	report := e.Error()
	require.Contains(t, report, "and 4936 more")
	require.Less(t, len(report), 64*400)
}
