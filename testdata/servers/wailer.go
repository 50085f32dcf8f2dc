package servers

import (
	"fmt"
	"os"
	"strconv"
)

func init() { register("wailer", wailer) }

// wailer writes as many lines of 20 bytes on stderr as its argument says before it
// reads anything, each with its number, and is ordinary then.
func wailer(args []string) {
	lines, _ := strconv.Atoi(args[0])
	for i := range lines {
		fmt.Fprintf(os.Stderr, "all is lost %07d\n", i+1)
	}
	serve(polite)
}
