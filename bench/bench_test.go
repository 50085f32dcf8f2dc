package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// The test binary is the benchmark, too: as a server, as a host, as a worker, and,
// with this variable, as the command itself.
const commandVar = "STDIOGUARD_BENCH_COMMAND"

func TestMain(m *testing.M) {
	servers.Main()
	if os.Getenv(hostVar) != "" || os.Getenv(workerVar) != "" || os.Getenv(commandVar) != "" {
		main()
		os.Exit(0)
	}
	leakcheck.VerifyTestMain(m)
}

// command runs the benchmark with a directory for temporary files of its own, which
// must be empty in the end.
func command(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), executable(), args...)
	cmd.Env = append(os.Environ(), commandVar+"=1", "TMPDIR="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.WaitDelay = 10 * time.Second
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in the directory for temporary files: %v %v", left, err)
		}
	})
	return cmd, dir
}

// Every cell has a number or a reason, and chart and tables are made.
func TestEverythingInShort(t *testing.T) {
	leakcheck.VerifyNone(t)
	out := t.TempDir()
	files := map[string]string{"json": filepath.Join(out, "r.json"), "svg": filepath.Join(out, "sub", "r.svg"), "md": filepath.Join(out, "r.md")}
	cmd, _ := command(t, "-short", "-json", files["json"], "-svg", files["svg"], "-md", files["md"])
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}

	raw, err := os.ReadFile(files["json"])
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Short || r.Machine.Versions[mcpgo] == "" || r.Machine.Holds == "" {
		t.Errorf("the report does not say what it is: %+v", r.Machine)
	}
	checkRows(t, r)
	checkFaults(t, r)
	checkGrowth(t, r)
	for _, name := range []string{"svg", "md"} {
		text, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"wire-64k", "kill-1000"} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
		if name == "svg" {
			wellFormed(t, text)
		}
	}
	for _, want := range []string{"must hold", "A smoke run"} {
		if !bytes.Contains(stdout, []byte(want)) {
			t.Errorf("no %q on stdout: %s", want, stdout)
		}
	}
}

func TestRowsThatDoNotExist(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd, _ := command(t, "-rows", "^nothing$", "-json", "", "-svg", "", "-md", "")
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte(`-rows "^nothing$" is the name of nothing; there are `)) || !bytes.Contains(out, []byte("wire-64k")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func checkRows(t *testing.T, r Report) {
	t.Helper()
	if len(r.Rows) != len(plans()) {
		t.Errorf("%d rows of %d", len(r.Rows), len(plans()))
	}
	for i, p := range plans() {
		row := r.Rows[i]
		if row.Reason == "" && len(row.Cells) == 0 || len(row.Checks) != len(p.checks) {
			t.Errorf("%s has neither numbers nor a reason", row.Name)
		}
		for column, c := range row.Cells {
			if c.Reason == "" && len(c.Samples) == 0 || math.IsNaN(c.Median) {
				t.Errorf("%s, %s has neither a number nor a reason", row.Name, column)
			}
			if c.Reason != "" {
				t.Logf("%s, %s: %s", row.Name, column, c.Reason)
			}
		}
		if cell := row.Cells[ours]; cell.Reason != "" {
			t.Errorf("%s: our own cell failed: %s", row.Name, cell.Reason)
		}
	}
}

func checkFaults(t *testing.T, r Report) {
	t.Helper()
	if len(r.Faults) != len(faults) {
		t.Errorf("%d faults of %d", len(r.Faults), len(faults))
	}
	for i, f := range faults {
		got := r.Faults[i]
		if len(got.Cells) != len(f.columns()) {
			t.Errorf("%s: %d cells of %d", f.name, len(got.Cells), len(f.columns()))
		}
		for column, a := range got.Cells {
			if a.Returned == 0 && a.Reason == "" {
				t.Errorf("%s, %s has neither a time nor a reason", f.name, column)
			}
		}
		if a := got.Cells[ours]; a.Returned < 0 || len(a.Left) > 0 || a.Reason != "" && !(f.starved && raceDetector) {
			t.Errorf("%s: of this library: %+v", f.name, a)
		}
	}
	// A witness that sees nobody would find everybody clean.
	for _, name := range []string{"host killed", "setsid"} {
		for _, f := range r.Faults {
			if a := f.Cells[sdk]; f.Name == name && len(a.Left) == 0 {
				t.Errorf("%s: a peer without any protection left nothing behind: %+v", name, a)
			}
		}
	}
}

func checkGrowth(t *testing.T, r Report) {
	t.Helper()
	if len(r.Growth) == 0 {
		t.Error("no growth")
	}
	for _, g := range r.Growth {
		for column, curve := range g.Curves {
			if len(curve) != len(g.Sizes) {
				t.Errorf("%s, %s: %d of %d sizes", g.Name, column, len(curve), len(g.Sizes))
			}
			for i, c := range curve {
				if c.Reason == "" && len(c.Samples) == 0 {
					t.Errorf("%s, %s, %d has neither a number nor a reason", g.Name, column, g.Sizes[i])
				}
			}
		}
	}
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// An interrupt in the middle of a fault, with a tree and a peer's helper around, ends
// everything and removes the directory.
func TestInterrupt(t *testing.T) {
	leakcheck.VerifyNone(t)
	cmd, dir := command(t, "-rows", "^kill-1000$|^fault/", "-json", "", "-svg", "", "-md", "")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitTree(t, cmd.Process.Pid, 300)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
		t.Errorf("no directory yet: %v %v", entries, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
	if !strings.Contains(out.String(), "interrupted") {
		t.Errorf("%s", out.Bytes())
	}
}

// awaitTree waits until a process has so many descendants.
func awaitTree(t *testing.T, pid, size int) {
	t.Helper()
	found := 0
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		all, err := proctable.List()
		if err != nil {
			t.Fatal(err)
		}
		if found = len(proctable.Descendants(all, pid)); found >= size {
			return
		}
	}
	t.Fatalf("%d descendants, waited for %d", found, size)
}
