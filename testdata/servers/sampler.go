package servers

import "fmt"

func init() { register("sampler", sampler) }

// sampler asks the host for a sample as soon as it is initialized, and goes on.
func sampler([]string) {
	serve(func(r request) {
		polite(r)
		if r.Method == "initialize" {
			fmt.Println(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
		}
	})
}
