package servers

import (
	"encoding/json"
	"os"
)

func init() { register("dumper", dumper) }

// dumper answers a call of its tool with its whole environment, line by line.
func dumper([]string) {
	serve(func(r request) {
		if r.Method != "tools/call" {
			polite(r)
			return
		}
		text := ""
		for _, kv := range os.Environ() {
			text += kv + "\n"
		}
		quoted, _ := json.Marshal(text)
		result(r, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
	})
}
