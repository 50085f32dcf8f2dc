package servers

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func init() { register("bulky", bulky) }

// bulky answers a call of the tool named "1000" with a message of 1000 bytes.
func bulky([]string) {
	serve(func(r request) {
		size, err := strconv.Atoi(r.Params.Name)
		if r.Method != "tools/call" || err != nil {
			polite(r)
			return
		}
		head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, r.ID)
		const tail = `"}]}}`
		out := bufio.NewWriter(os.Stdout) // not all of it is in memory at once
		out.WriteString(head)
		text := strings.Repeat("x", 64<<10)
		for left := size - len(head) - len(tail); left > 0; left -= len(text) {
			out.WriteString(text[:min(left, len(text))])
		}
		out.WriteString(tail + "\n")
		out.Flush()
	})
}
