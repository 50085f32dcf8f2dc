// Package fixture_repaired ends it after the tests.
package fixture_repaired

import (
	"os/exec"
	"testing"

	"github.com/stdioguard/stdioguard/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(fixture{m}) }

type fixture struct{ *testing.M }

func (f fixture) Run() int {
	cmd := exec.Command("sleep", "73")
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	return f.M.Run()
}

func TestNothing(t *testing.T) { leakcheck.VerifyNone(t, leakcheck.IgnoreCurrent()) }
