// Package servers is a zoo of misbehaving stdio servers for tests: one fault
// per file, each written in plain JSON so that no SDK's politeness hides it.
//
// There is no binary to build. A test binary that calls [Main] first thing in
// its TestMain can run any of them by running itself again:
//
//	func TestMain(m *testing.M) {
//		servers.Main()
//		os.Exit(m.Run())
//	}
//
//	cmd := servers.Command("stubborn") // an *exec.Cmd like any other
//
// Every server reports to a [Witness], which learns from the kernel, not from
// the code under test, who is still alive. Every server ends by itself after a
// minute, so that a crashed suite leaves nothing.
package servers

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"time"
)

// The variables through which a process learns that it is a server.
const (
	nameVar    = "STDIOGUARD_ZOO"
	exeVar     = "STDIOGUARD_ZOO_EXE"
	witnessVar = "STDIOGUARD_ZOO_WITNESS"
)

// lifetime bounds every server, whatever happened to its test.
const lifetime = time.Minute

// zoo holds the servers by name. Each file registers its own.
var zoo = map[string]func(args []string){}

func register(name string, run func(args []string)) {
	if zoo[name] != nil {
		panic("servers: two servers named " + name)
	}
	zoo[name] = run
}

// Main runs the server that this process was started as, and exits. In any
// other process it returns at once.
func Main() {
	if name := os.Getenv(nameVar); name != "" {
		Run(name)
	}
}

// Run turns this process into a server, and exits when that has ended.
func Run(name string) {
	run := zoo[name]
	if run == nil {
		fmt.Fprintf(os.Stderr, "servers: no server named %q, only %q\n", name, Names())
		os.Exit(98)
	}
	time.AfterFunc(lifetime, func() { os.Exit(97) })
	self = name
	run(os.Args[1:])
	os.Exit(0)
}

// Names returns the names of all servers, sorted. What each of them does, and
// which arguments it takes, is said in the file of its name.
func Names() []string { return slices.Sorted(maps.Keys(zoo)) }

// Command returns the command that runs a server by its name: one of [Names].
func Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(executable(), args...)
	cmd.Env = environ(name)
	return cmd
}

// Shell returns a command that runs a script with a shell: "sh", "bash". In the
// script, `run NAME` runs a server as a child of the shell; see also [Exec].
//
// dash forks for the last command of a script where bash executes it in place,
// so a wrapper is worth testing in both.
func Shell(shell, script string) *exec.Cmd {
	cmd := exec.Command(shell, "-c", `run() { `+nameVar+`="$1" "$`+exeVar+`"; }; `+script)
	cmd.Env = append(environ(""), exeVar+"="+executable())
	return cmd
}

// Exec returns the end of a script for [Shell] with which the shell becomes the
// named server, as a wrapper that ends in exec does.
func Exec(name string) string {
	return "export " + nameVar + "=" + name + `; exec "$` + exeVar + `"`
}

func environ(name string) []string {
	return append(os.Environ(),
		nameVar+"="+name,
		// Under -race a process takes a second to exit otherwise.
		"GORACE=atexit_sleep_ms=0",
	)
}

func executable() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

// child starts another server of the zoo and does not wait for it.
func child(cmd *exec.Cmd) *exec.Cmd {
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "servers: child:", err)
		os.Exit(98)
	}
	return cmd
}

// forever blocks until the lifetime is over. An empty select would be called
// a deadlock where nothing else runs.
func forever() { time.Sleep(2 * lifetime) }
