//go:build unix

package leakcheck_test

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

// Find tells who is there, and how that is known, and kills nobody.
func ExampleFind() {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	var leak *leakcheck.LeakError
	if errors.As(leakcheck.Find(leakcheck.Within(0)), &leak) {
		for _, l := range leak.Leaks {
			fmt.Println(l.PID == cmd.Process.Pid, l.How)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	fmt.Println(leakcheck.Find())
	// Output:
	// true child
	// <nil>
}

// In a parallel test the commands are marked, so that the check knows whose they are.
func ExampleMark() {
	_ = func(t *testing.T) { // func TestServer
		leakcheck.VerifyNone(t)
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), "my-server")
		leakcheck.Mark(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Wait() }) // the context has ended by then
	}
}

// withDatabase starts what all tests of a package need.
type withDatabase struct{ *testing.M }

func (s withDatabase) Run() int {
	cmd := exec.Command("my-database")
	if err := cmd.Start(); err != nil {
		return 1
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	return s.M.Run()
}

// Set-up and take-down are in Run, since VerifyTestMain does not return.
func ExampleVerifyTestMain_fixture() {
	_ = func(m *testing.M) { // func TestMain
		leakcheck.VerifyTestMain(withDatabase{m})
	}
}

// One line for a package.
func ExampleVerifyTestMain() {
	_ = func(m *testing.M) { // func TestMain
		leakcheck.VerifyTestMain(m)
	}
}
