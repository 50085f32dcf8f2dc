package servers

import (
	"fmt"
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
		fmt.Println(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
	})
}
