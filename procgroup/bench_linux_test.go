package procgroup_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
)

// BenchmarkStart measures from the call of Start to the first byte of the server.
// Compare the lines of one run: machines are noisy.
func BenchmarkStart(b *testing.B) {
	first := func(b *testing.B, start func(*exec.Cmd) (end func())) {
		for b.Loop() {
			cmd := exec.Command("echo", "ready")
			out, err := cmd.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			end := start(cmd)
			if _, err := out.Read(make([]byte, 16)); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			end()
			b.StartTimer()
		}
	}
	b.Run("os/exec", func(b *testing.B) {
		first(b, func(cmd *exec.Cmd) func() {
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			return func() { cmd.Wait() }
		})
	})
	for _, column := range []string{"direct", "guardian", "cgroup"} {
		b.Run(column, func(b *testing.B) {
			first(b, func(cmd *exec.Cmd) func() {
				g, err := columns[column].Start(b.Context(), cmd)
				if err != nil {
					b.Skip(err)
				}
				return func() { g.Wait() }
			})
		})
	}
}

// BenchmarkKill measures from the kill to the last death of a flat tree. The bare
// kill of the group is followed by no proof: its end is seen by a pipe that all
// processes hold.
func BenchmarkKill(b *testing.B) {
	for _, size := range []int{10, 100, 1000} {
		script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 600 & i=$((i+1)); done; echo ready; wait", size)
		flat := func(b *testing.B) (cmd *exec.Cmd, held *os.File, ready *bufio.Reader) {
			cmd = exec.Command("sh", "-c", script)
			r, w, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			cmd.Stdout = w
			return cmd, w, bufio.NewReader(r)
		}
		b.Run(fmt.Sprintf("bare kill/%d", size), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				cmd, held, out := flat(b)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				held.Close()
				out.ReadString('\n')
				b.StartTimer()
				if pid := cmd.Process.Pid; pid > 1 {
					syscall.Kill(-pid, syscall.SIGKILL)
				}
				out.ReadByte() // end of file: nobody is left
				b.StopTimer()
				cmd.Wait()
				b.StartTimer()
			}
		})
		for _, column := range []string{"direct", "guardian", "cgroup"} {
			b.Run(fmt.Sprintf("%s/%d", column, size), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					cmd, held, out := flat(b)
					g, err := columns[column].Start(b.Context(), cmd)
					if err != nil {
						b.Skip(err)
					}
					held.Close()
					out.ReadString('\n')
					b.StartTimer()
					if err := g.Kill(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGuardianMemory reports what one guardian costs, private to it.
func BenchmarkGuardianMemory(b *testing.B) {
	var total int
	for b.Loop() {
		g, err := procgroup.Start(b.Context(), exec.Command("sleep", "600"))
		if err != nil {
			b.Fatal(err)
		}
		p, err := proctable.Lookup(g.Pid())
		if err != nil {
			b.Fatal(err)
		}
		raw, err := os.ReadFile("/proc/" + strconv.Itoa(p.PPID) + "/smaps_rollup")
		if err != nil {
			b.Skip(err)
		}
		for line := range strings.Lines(string(raw)) {
			if rest, ok := strings.CutPrefix(line, "Private_"); ok {
				kb, _ := strconv.Atoi(strings.Fields(rest)[1])
				total += kb
			}
		}
		g.Kill()
	}
	b.ReportMetric(float64(total)/float64(b.N), "KiB/guardian")
}
