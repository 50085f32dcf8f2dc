package servers

func init() { register("pretender", pretender) }

// pretender announces tools, and then cannot list them.
func pretender([]string) {
	serve(func(r request) {
		if r.Method == "tools/list" {
			failure(r, -32603, "the tools are out of order")
			return
		}
		polite(r)
	})
}
