package servers

import (
	"fmt"
	"os"
)

func init() { register("brittle", brittle) }

// brittle says one line on stderr and exits 3 before it reads anything.
func brittle([]string) {
	fmt.Fprintln(os.Stderr, "fatal: API_KEY is not set")
	os.Exit(3)
}
