package servers

func init() { register("antique", antique) }

// antique answers initialize with a protocol version that nobody speaks.
func antique([]string) {
	serve(func(r request) {
		if r.Method == "initialize" {
			initialized(r, "1900-01-01")
			return
		}
		polite(r)
	})
}
