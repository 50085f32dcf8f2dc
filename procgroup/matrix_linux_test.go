package procgroup_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// columns are the ways to hold a tree. A host takes the name as part of its event.
var columns = map[string]procgroup.Config{
	"cgroup":   {Cgroup: procgroup.CgroupRequire},
	"guardian": {Cgroup: procgroup.CgroupOff},
	"direct":   {NoGuardian: true},
}

// TestMatrix lets hosts die of every event, and prints who of the tree survived.
// With a guardian nobody may; without one the table says what is lost.
func TestMatrix(t *testing.T) {
	var (
		mu    sync.Mutex
		cells = make(map[string]map[string]string)
	)
	possible := slices.Sorted(maps.Keys(columns))
	if _, err := columns["cgroup"].Start(t.Context(), exec.Command("true")); err != nil {
		t.Logf("SKIPPED: the column cgroup: %v", err)
		possible = possible[1:]
	}
	t.Run("cells", func(t *testing.T) {
		for event := range events {
			cells[event] = make(map[string]string)
			for _, column := range possible {
				t.Run(event+"/"+column, func(t *testing.T) {
					t.Parallel()
					survivors, took := matrixCell(t, event, column)
					mu.Lock()
					cells[event][column] = strings.Join(survivors, " ")
					if len(survivors) == 0 {
						cells[event][column] = fmt.Sprintf("gone after %v", took.Round(10*time.Millisecond))
					}
					mu.Unlock()
					if column != "direct" || hostLives[event] {
						require.Empty(t, survivors)
					} else {
						require.NotEmpty(t, survivors, "with the protection off: this cell proves nothing")
					}
				})
			}
		}
	})
	t.Logf("%-22s %-18s %-18s %s", "event", "cgroup", "guardian", "NoGuardian: who survives")
	for _, event := range slices.Sorted(maps.Keys(cells)) {
		t.Logf("%-22s %-18s %-18s %s", event, cells[event]["cgroup"], cells[event]["guardian"], cells[event]["direct"])
	}
}

// matrixCell returns the roles of those who lived on, and how long it took for the
// last of the others to die.
func matrixCell(t *testing.T, event, column string) (survivors []string, took time.Duration) {
	w := servers.NewWitness(t)
	cmd := w.Watch(hostCommand(column + ": " + event))
	in, out, terminal := connectHost(t, cmd, event)
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()

	answers := bufio.NewReader(out)
	line, err := answers.ReadString('\n')
	require.NoError(t, err)
	leader, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	w.Await(t, "clan", "stubborn-sleeper", "stubborn-sleeper", "stubborn-sleeper")
	roles := roles(t, w, leader)

	begin := time.Now()
	io.WriteString(in, "\n")
	switch {
	case event == "terminal Ctrl-C":
		terminal.Write([]byte{3})
	case event == "terminal hangup":
		terminal.Close()
	case hostLives[event]:
		_, err := answers.ReadString('\n')
		require.NoError(t, err)
	}
	patience := 10 * time.Second // gone within 3 s on a machine that has nothing else to do
	if column == "direct" && !hostLives[event] {
		patience = 500 * time.Millisecond // who lives then lives on
	}
	w.Emptied(patience)
	took = time.Since(begin)
	for _, s := range w.Alive() {
		survivors = append(survivors, roles[s.PID])
	}
	slices.Sort(survivors)
	return survivors, took
}

// roles tells the members of a clan apart.
func roles(t *testing.T, w *servers.Witness, leader int) map[int]string {
	t.Helper()
	found := make(map[int]string)
	for _, s := range w.Alive() {
		pgid, err := unix.Getpgid(s.PID)
		require.NoError(t, err)
		sid, err := unix.Getsid(s.PID)
		require.NoError(t, err)
		switch {
		case s.PID == leader:
			found[s.PID] = "leader"
		case pgid == leader:
			found[s.PID] = "group"
		case sid == s.PID && slices.Contains(slices.Collect(maps.Values(found)), "setsid"):
			found[s.PID] = "daemon"
		default:
			found[s.PID] = "setsid"
		}
	}
	return found
}

// connectHost gives the host pipes, or a terminal where the event comes from one.
func connectHost(t *testing.T, cmd *exec.Cmd, event string) (in io.Writer, out io.Reader, terminal *os.File) {
	t.Helper()
	if !strings.HasPrefix(event, "terminal") {
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		return in, out, nil
	}
	master, slave := openTerminal(t)
	cmd.Stdin = slave
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return master, out, master
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { slave.Close() })
	return master, slave
}
