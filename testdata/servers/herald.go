package servers

import (
	"bufio"
	"fmt"
	"os"
)

func init() { register("herald", herald) }

// herald sends a million notifications before it reads anything, and is ordinary then.
// After the first ten thousand it says so on stderr.
func herald([]string) {
	ready()
	out := bufio.NewWriter(os.Stdout)
	for i := range 1_000_000 {
		if i == 10_000 {
			fmt.Fprintln(os.Stderr, "ten thousand were taken")
		}
		out.WriteString(`{"jsonrpc":"2.0","method":"notifications/progress"}` + "\n")
	}
	out.Flush()
	serve(polite)
}
