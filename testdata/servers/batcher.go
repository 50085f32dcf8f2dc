package servers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func init() { register("batcher", batcher) }

// batcher agrees on the version of its first argument. Its answer to a call is an
// array of messages: first it asks the host two things and tells it a third, and
// only when the answers have come in one array does it answer, in an array as
// well. Whatever else comes on its stdin then is said on stderr.
func batcher(args []string) {
	ready()
	var waiting request
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		var answers []request
		switch {
		case json.Unmarshal(line, &answers) == nil:
			fmt.Fprintf(os.Stderr, "an array of %d: %s, %s\n", len(answers), answers[0].ID, answers[1].ID)
			fmt.Printf(`[{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"pong"}]}}]`+"\n", waiting.ID)
		case json.Unmarshal(line, &r) != nil:
			fmt.Fprintf(os.Stderr, "no message: %s", line)
		case r.Method == "initialize":
			initialized(r, args[0])
		case r.Method == "tools/call":
			waiting = r
			fmt.Println(`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`)
		case r.Method != "" && r.ID != nil:
			polite(r)
		}
	}
}
