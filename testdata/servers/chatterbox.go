package servers

import "os"

func init() { register("chatterbox", chatterbox) }

// chatterbox is ordinary but writes its first argument, as it is, in front of
// every message. Its second argument, if there is one, is how its messages end.
func chatterbox(args []string) {
	if len(args) > 1 {
		lineEnd = args[1]
	}
	serve(func(r request) {
		os.Stdout.WriteString(args[0])
		polite(r)
	})
}
