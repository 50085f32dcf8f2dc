package leakcheck_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
)

// BenchmarkFind looks among strangers that began after the test process, so that each has
// to be asked for its environment.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{0, 100, 1000, 5000} {
		b.Run(strconv.Itoa(n)+" strangers", func(b *testing.B) {
			defer crowd(b, n)()
			require.NoError(b, leakcheck.Find())
			before := cpu(b)
			for b.Loop() {
				if err := leakcheck.Find(leakcheck.Within(0)); err != nil {
					b.Fatal(err)
				}
			}
			// What it takes on a machine that has nothing else to do.
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd starts n sleepers that are strangers to this process, and returns what ends them. They
// end by themselves after five minutes.
func crowd(b *testing.B, n int) (end func()) {
	b.Helper()
	if n == 0 {
		return func() {}
	}
	var most syscall.Rlimit
	const nproc = 6 // RLIMIT_NPROC
	if err := syscall.Getrlimit(nproc, &most); err == nil && most.Cur < uint64(n)+500 {
		b.Skipf("SKIPPED: %d processes are allowed", most.Cur)
	}
	// The shell in the middle ends, so that the one that starts them is nobody's child.
	script := fmt.Sprintf(`setsid sh -c 'i=0; while [ $i -lt %d ]; do sleep 300 & i=$((i+1)); done; echo $$; exec >&-; wait' & exit 0`, n)
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), proctable.TokenVar+"=another")
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	leader, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(b, err)
	require.Greater(b, leader, 1)
	require.NoError(b, cmd.Wait())
	return func() {
		// The leader of the group lives until then: the number is its own.
		require.NoError(b, syscall.Kill(-leader, syscall.SIGKILL))
		require.Eventually(b, func() bool { return syscall.Kill(-leader, 0) != nil }, time.Minute, 10*time.Millisecond)
	}
}
