package servers

import "fmt"

func init() { register("asker", asker) }

// asker asks the host's user a question as soon as it is initialized, and does not
// wait for the answer.
func asker([]string) {
	serve(func(r request) {
		polite(r)
		if r.Method == "initialize" {
			fmt.Println(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"well?","requestedSchema":{"type":"object","properties":{}}}}`)
		}
	})
}
