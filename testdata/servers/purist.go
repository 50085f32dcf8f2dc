package servers

import (
	"fmt"
	"os"
	"slices"
)

func init() { register("purist", purist) }

// purist knows initialize as the first message and nothing else: at any other it
// exits 7, as servers from before 2026-07-28 do, and at server/discover at any time. With "patient" it ignores what
// comes before, with "late" it answers that after initialize, with success. With
// "hopeless" it exits 8 at initialize, too. With "parent" it has a child that
// does not end by itself.
func purist(args []string) {
	if slices.Contains(args, "parent") {
		child(Command("stubborn-sleeper"))
	}
	var before []request
	initialized := false
	serve(func(r request) {
		switch {
		case initialized && r.Method != "server/discover":
			polite(r)
		case r.Method != "initialize":
			if !slices.Contains(args, "patient") && !slices.Contains(args, "late") {
				fmt.Fprintln(os.Stderr, "fatal: expected initialize, got", r.Method)
				os.Exit(7)
			}
			before = append(before, r)
		case slices.Contains(args, "hopeless"):
			fmt.Fprintln(os.Stderr, "fatal: no license")
			os.Exit(8)
		default:
			initialized = true
			polite(r)
			if slices.Contains(args, "late") {
				for _, r := range before {
					result(r, `{"supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"zoo","version":"1"}}`)
				}
			}
		}
	})
}
