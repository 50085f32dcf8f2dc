package servers

import "os"

func init() { register("closer", closer) }

// closer closes its stdout before it has said a word, and stays.
func closer([]string) {
	os.Stdout.Close()
	serve(polite)
	forever()
}
