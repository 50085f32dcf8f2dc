// Talker is a host program with a package that takes its time to initialise, and
// prints. Its path comes early in the alphabet, and so does its turn: only a package
// that needs next to nothing is initialised before it. Talker starts a server and
// tells who was its parent and what it has said.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	_ "a.example/talker/loud"
	"github.com/stdioguard/stdioguard/procgroup"
)

func main() {
	cmd := exec.Command("sh", "-c", "echo $PPID; echo hello")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(err)
	g, err := procgroup.Start(context.Background(), cmd)
	must(err)
	var parent int
	var word, more string
	_, err = fmt.Fscan(out, &parent, &word)
	must(err)
	fmt.Fscan(out, &more)
	must(g.Wait())
	fmt.Printf("guarded=%v said %q\n", parent != os.Getpid(), word+more)
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
