// Library is a host that is no program of its own: a C program has loaded it.
package main

import "C"

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/stdioguard/stdioguard/procgroup"
)

// Run starts a server and tells who was its parent and what it has said.
//
//export Run
func Run() C.int {
	cmd := exec.Command("sh", "-c", "echo $PPID hello")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1
	}
	g, err := procgroup.Start(context.Background(), cmd)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var parent int
	var word string
	fmt.Fscan(out, &parent, &word)
	if err := g.Wait(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("guarded=%v said %q\n", parent != os.Getpid(), word)
	return 0
}

func main() {}
