package servers

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func init() {
	register("flooder", flooder)
	register("endless", endless)
}

// flooder prints lines that are no messages for ever: at once, or with the
// argument "call" when a tool is called. With a number its lines have that length.
func flooder(args []string) {
	line := "still starting\n"
	if len(args) > 0 {
		if n, err := strconv.Atoi(args[0]); err == nil {
			line = strings.Repeat("=", n) + "\n"
		}
	}
	flood(args, line)
}

// endless does it without ever ending the line.
func endless(args []string) {
	flood(args, strings.Repeat("A", 4096))
}

func flood(args []string, with string) {
	ready()
	if len(args) > 0 && args[0] == "call" {
		serve(func(r request) {
			if r.Method == "tools/call" {
				pour(with)
			}
			polite(r)
		})
		return
	}
	pour(with)
}

func pour(with string) {
	for {
		if _, err := fmt.Fprint(os.Stdout, with); err != nil {
			return
		}
	}
}
