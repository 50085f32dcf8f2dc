package procgroup_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
)

// The storms are in Perl, which forks as fast as it goes and is on every Debian.
// Each ends by itself after 20 s, and none has more than 300 processes at a time.
const (
	stormHead = `use POSIX; $end = time + 20; $| = 1; $s = $ENV{STORM_SETSID};
		sub born { POSIX::setsid() if $s; exit if time > $end }
		print "raging\n"; `

	// Eight processes, each of which forks a successor and exits.
	hopStorm = stormHead + `for (1..8) { if (!fork) { while (1) { born; my $p = fork; exit if $p } } } sleep 20`

	// Two hundred and fifty that are there to stay, as fast as they can be made.
	growStorm = stormHead + `for (1..250) { my $p = fork; if (defined $p && !$p) { born; sleep 20; exit } } sleep 20`

	// Every process forks for ever, up to the limit.
	bombStorm = stormHead + `while (1) { born; my $p = fork; select undef, undef, undef, 0.01 unless defined $p }`
)

func TestForkStorms(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("SKIPPED: no perl to fork fast enough")
	}
	for name, script := range map[string]string{"hop": hopStorm, "grow": growStorm, "bomb": bombStorm} {
		for _, setsid := range []string{"", "1"} {
			for _, column := range []string{"guardian", "auto"} {
				t.Run(name+"/setsid="+setsid+"/"+column, func(t *testing.T) {
					mark := "STORM=" + rand.Text()
					cmd := limited(t, 300, exec.Command("perl", "-e", script))
					cmd.Env = append(os.Environ(), mark, "STORM_SETSID="+setsid)
					out, err := cmd.StdoutPipe()
					require.NoError(t, err)
					g, err := columns[column].Start(t.Context(), cmd)
					require.NoError(t, err)
					_, err = out.Read(make([]byte, 1)) // it rages
					require.NoError(t, err)
					time.AfterFunc(200*time.Millisecond, func() { out.Close() })
					<-time.After(300 * time.Millisecond) // let it grow: not readiness, but size

					begin := time.Now()
					require.NoError(t, g.Kill())
					took := time.Since(begin)
					require.Zero(t, countMarked(t, mark))
					t.Logf("ended in %v: %v", took.Round(time.Millisecond), g.Containment().Mechanism)
				})
			}
		}
	}
}

// limited makes cmd run under a limit on its number of processes.
func limited(t *testing.T, limit int, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	perl := strings.Join(cmd.Args[:1], "")
	args := append([]string{"-c", "", perl}, cmd.Args[1:]...)
	if os.Getuid() != 0 {
		// The limit counts all processes of the user.
		args[1] = "ulimit -u " + strconv.Itoa(limit+200) + `; exec "$0" "$@"`
		return exec.Command("bash", args...)
	}
	for _, root := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		dir, err := os.MkdirTemp(root, "storm")
		if err != nil {
			continue
		}
		t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
		if os.WriteFile(filepath.Join(dir, "pids.max"), []byte(strconv.Itoa(limit)), 0o600) == nil {
			args[1] = "echo $$ >" + dir + `/cgroup.procs && exec "$0" "$@"`
			return exec.Command("sh", args...)
		}
	}
	t.Skip("SKIPPED: no way to limit the number of processes of root here")
	return nil
}

// countMarked counts the live processes that have mark in their environment.
func countMarked(t *testing.T, mark string) (n int) {
	t.Helper()
	all, err := proctable.List()
	require.NoError(t, err)
	for _, p := range all {
		env, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
		if p.Alive() && strings.Contains(string(env), mark) {
			n++
		}
	}
	return n
}
