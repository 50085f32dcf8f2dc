package servers

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func init() { register("parting", parting) }

// parting is ordinary until a tool is called: it answers that, and exits without
// a moment's delay. With a number it sends as many notifications of 1000 bytes and
// some before the answer.
func parting(args []string) {
	serve(func(r request) {
		if r.Method != "tools/call" {
			polite(r)
			return
		}
		if len(args) > 0 {
			n, _ := strconv.Atoi(args[0])
			one := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 1000) + `"}}` + "\n"
			fmt.Print(strings.Repeat(one, n))
		}
		polite(r)
		os.Exit(0)
	})
}
