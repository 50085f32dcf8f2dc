package servers

import (
	"io"
	"os"
)

func init() { register("mute", mute) }

// mute never answers anything. It reads its stdin and ends with it; with the
// argument "blind" it does not even read.
func mute(args []string) {
	ready()
	if len(args) > 0 && args[0] == "blind" {
		forever()
	}
	io.Copy(io.Discard, os.Stdin)
}
