//go:build unix

package servers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func init() { register("abstainer", abstainer) }

// abstainer is ordinary until it is initialized: then it reads nothing more until
// SIGUSR1 tells it to go on. A line that is no whole message is the end of it.
func abstainer([]string) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	ready()
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		switch {
		case json.Unmarshal(line, &r) != nil:
			fmt.Fprintf(os.Stderr, "broken line of %d bytes\n", len(line))
			os.Exit(4)
		case r.Method == "notifications/initialized":
			<-told
		case r.ID != nil:
			polite(r)
		}
	}
}
