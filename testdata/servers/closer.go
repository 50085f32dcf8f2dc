package servers

import (
	"os"
	"slices"
)

func init() { register("closer", closer) }

// closer closes its stdout before it has said a word, and stays. With "stdin" it is
// ordinary until the first request after its handshake: it closes its stdin then,
// without an answer, and stays.
func closer(args []string) {
	if !slices.Contains(args, "stdin") {
		os.Stdout.Close()
		serve(polite)
		forever()
	}
	serve(func(r request) {
		if r.Method == "initialize" || r.Method == "server/discover" {
			polite(r)
			return
		}
		os.Stdin.Close()
		forever()
	})
}
