package servers

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func init() { register("bulky", bulky) }

// bulky answers a call of the tool named "1000" with a message of 1000 bytes. It
// does little more than to write them, so that a benchmark measures the client, and
// does not have all of them in memory at once.
func bulky([]string) {
	text := strings.Repeat("x", 256<<10)
	out := bufio.NewWriterSize(os.Stdout, len(text))
	serve(func(r request) {
		size, err := strconv.Atoi(r.Params.Name)
		if r.Method != "tools/call" || err != nil {
			polite(r)
			return
		}
		head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, r.ID)
		const tail = `"}]}}`
		out.WriteString(head)
		for left := size - len(head) - len(tail); left > 0; left -= len(text) {
			out.WriteString(text[:min(left, len(text))])
		}
		out.WriteString(tail + "\n")
		out.Flush()
	})
}
