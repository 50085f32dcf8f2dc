package servers

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func init() { register("wailer", wailer) }

// wailer writes as many lines of 20 bytes on stderr as its argument says before it
// reads anything, each with its number, and is ordinary then. With a second number its
// lines have so many bytes more.
func wailer(args []string) {
	lines, _ := strconv.Atoi(args[0])
	more := ""
	if len(args) > 1 {
		n, _ := strconv.Atoi(args[1])
		more = strings.Repeat("!", n)
	}
	for i := range lines {
		fmt.Fprintf(os.Stderr, "all is lost %07d%s\n", i+1, more)
	}
	serve(polite)
}
