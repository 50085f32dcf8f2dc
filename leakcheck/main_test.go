package leakcheck_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stdioguard/stdioguard/leakcheck"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func TestMain(m *testing.M) {
	servers.Main()
	deaths()
	if code, err := strconv.Atoi(os.Getenv(suiteVar)); err == nil {
		leakcheck.VerifyTestMain(suite(code), leakcheck.Within(soon))
	}
	leakcheck.VerifyTestMain(m)
}

// deaths turns this process into one that dies, where that is what it was started for.
var deaths = func() {}

const soon = 100 * time.Millisecond

// suiteVar makes this test binary a suite whose tests end with the code that the
// variable holds.
const suiteVar = "LEAKCHECK_TEST_SUITE"

// suite stands for the tests of a package.
type suite int

// Run leaves a child behind if there is one argument more.
func (code suite) Run() int {
	if len(os.Args) > 1 {
		if err := servers.Command("sleeper").Start(); err != nil {
			panic(err)
		}
	}
	return int(code)
}
