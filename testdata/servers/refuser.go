package servers

import "slices"

func init() { register("refuser", refuser) }

// refuser answers initialize with an error and stays. With "stubborn" it then
// ends neither at end of file nor at SIGTERM, with "deaf" not at end of file;
// with "parent" it has a child that does not end either.
func refuser(args []string) {
	if slices.Contains(args, "parent") {
		child(Command("stubborn-sleeper"))
	}
	answer := func(r request) {
		if r.Method == "initialize" {
			failure(r, -32000, "no license for this host")
			return
		}
		polite(r)
	}
	serve(answer)
	switch {
	case slices.Contains(args, "stubborn"):
		stubborn(nil)
	case slices.Contains(args, "deaf"):
		forever()
	}
}
