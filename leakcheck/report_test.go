package leakcheck

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var now = time.Now()

// reports are those of the golden files.
func reports() map[string]*LeakError {
	many := &LeakError{}
	for i := range 5000 {
		many.Leaks = append(many.Leaks, Leak{PID: 100 + i, PPID: 99 + i, State: "sleeping", Start: now, How: asDescendant,
			Argv: []string{strings.Repeat("é", 5_000), "never shown"}})
	}
	return map[string]*LeakError{
		"tree": {Leaks: []Leak{
			{PID: 30, PPID: 20, PGID: 10, State: "sleeping", Start: now, How: asDescendant, Argv: []string{"node", "server.js"}},
			{PID: 10, PPID: 1, PGID: 10, State: "sleeping", Start: now, How: asChild, Argv: []string{"npx", "-y"}},
			{PID: 20, PPID: 10, PGID: 10, State: "stopped", Start: now, How: asDescendant, Argv: []string{"sh"}},
			{PID: 40, PPID: 1, PGID: 40, State: "sleeping", Start: now.Add(-61 * time.Second), How: asOrphan},
			{PID: 41, PPID: 40, PGID: 40, State: "running", Start: now, How: asSession, Argv: []string{""}},
			{PID: 50, PPID: 9, PGID: 9, State: "zombie", Start: now, How: asZombie, Argv: []string{"[true]"}},
		}},
		"escaped": {Leaks: []Leak{
			{PID: 20, PPID: 10, PGID: 10, State: "sleeping", Start: now, How: asChild,
				Argv: []string{"sh", "-c", "a\x1b[31mb\n\x00\"\\", "\u202egnp.exe", "\xff\xfe", "grün"}},
		}},
		"bounded": many,
	}
}

func TestReports(t *testing.T) {
	for name, e := range reports() {
		t.Run(name, func(t *testing.T) {
			file := "testdata/golden/report/" + name + ".txt"
			if os.Getenv("LEAKCHECK_UPDATE") != "" {
				require.NoError(t, os.WriteFile(file, []byte(e.tree(now)+"\n"), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), e.tree(now)+"\n")
		})
	}
}

func TestReportIsBounded(t *testing.T) {
	report := reports()["bounded"].Error()
	require.Less(t, len(report), mostLeaks*(mostArgv+150))
	for line := range strings.Lines(report) {
		require.True(t, strings.ToValidUTF8(line, "") == line, "cut within a character")
	}
}
