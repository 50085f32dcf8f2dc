package servers

import (
	"fmt"
	"io"
	"os"
)

func init() { register("babbler", babbler) }

// babbler says something that is no message, and then reads its stdin without ever
// answering. It ends with it.
func babbler([]string) {
	fmt.Println("{bad")
	ready()
	io.Copy(io.Discard, os.Stdin)
}
