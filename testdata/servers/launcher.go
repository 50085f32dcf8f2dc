package servers

import (
	"io"
	"os"
)

func init() { register("launcher", launcher) }

// launcher is a wrapper as npx is one: it starts the real server, which ignores
// end of file, relays its stdin and stdout, and dies of SIGTERM alone. With the
// argument "inherit" it hands its own stdin and stdout down instead of relaying.
func launcher(args []string) {
	cmd := Command("deaf")
	cmd.Stderr = os.Stderr
	if len(args) > 0 && args[0] == "inherit" {
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		child(cmd)
		ready()
		cmd.Wait()
		return
	}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	child(cmd)
	ready()
	go func() {
		io.Copy(in, os.Stdin)
		in.Close()
	}()
	io.Copy(os.Stdout, out)
	cmd.Wait()
}
