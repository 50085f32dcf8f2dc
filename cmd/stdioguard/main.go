// Command stdioguard looks after stdio servers from the command line.
//
//	stdioguard check [flags] [-- command args...]
//
// check starts a server, shakes hands with it, lists what it offers, ends it,
// and reports what that took and whether a process was left behind. Without a
// command it checks a small server of its own. It exits with 0 only if the
// handshake went well, the server ended when asked to, and nothing was left; with 1
// otherwise, and with 2 for a command line that it does not understand.
//
// The file of each subcommand parses its flags and prints; the work is done by
// package stdio, and leakcheck has the last word.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A first Ctrl-C ends the server and is reported, a second one ends us.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `usage: stdioguard check [flags] [-- command args...]

  check   start a server, shake hands, end it, and report what is left behind

Without a command, a built-in server is checked. Flags: stdioguard check -h
`

// builtinArg makes this program the server that check starts without a command.
const builtinArg = "builtin-server"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	switch args[0] {
	case "check":
		return check(ctx, args[1:], stdout, stderr)
	case builtinArg:
		return builtin(ctx, stderr)
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return 0
	}
	fmt.Fprintf(stderr, "stdioguard: unknown subcommand %q\n%s", args[0], usage)
	return 2
}
