package main

import (
	"os/exec"

	"github.com/stdioguard/stdioguard/testdata/servers"
)

// fault is a server of the zoo and what a host does with it.
type fault struct {
	name, what string
	server     func() *exec.Cmd
	present    int // how many processes have reported before the host goes on
	play       play
	processes  bool // the columns that know no sessions take part
	starved    bool // the host gets a limit of memory
}

// play is the host's part of a fault. It calls h.ready when what it measures begins.
type play func(h *host, cmd *exec.Cmd) error

func zoo(name string, args ...string) func() *exec.Cmd {
	return func() *exec.Cmd { return servers.Command(name, args...) }
}

var (
	sessionColumns = []string{ours, sdk, mcpgo}
	processColumns = []string{ours, sdk, mcpgo, gocmd, leakless, plain}
)

func (f fault) columns() []string {
	if f.processes {
		return processColumns
	}
	return sessionColumns
}

var faults = []fault{
	{name: "grandchild", what: "a launcher whose real server ignores end of file: Close, or kill",
		server: zoo("launcher"), present: 2, play: playEnd, processes: true},
	{name: "shell", what: "sh -c 'stubborn; true', where the shell forks: Close, or kill",
		server: func() *exec.Cmd { return servers.Shell("sh", "run stubborn; true") }, present: 1, play: playEnd, processes: true},
	{name: "setsid", what: "a child in a session of its own and a daemon: Close, or kill",
		server: zoo("escapist"), present: 3, play: playEnd, processes: true},
	{name: "deserter", what: "the leader goes at SIGTERM, its child does not: Close, or kill",
		server: zoo("deserter"), present: 2, play: playEnd, processes: true},
	{name: "refused", what: "refuses the handshake and then ignores end of file and SIGTERM: Connect",
		server: zoo("refuser", "stubborn"), play: playConnect},
	{name: "silent", what: "never answers: Connect with a context of 1 s",
		server: zoo("mute"), play: playConnect},
	{name: "host killed", what: "kill -9 of the host of a server that ignores end of file and SIGTERM, with a child, a setsid child and a daemon",
		server: zoo("clan"), present: 4, play: playHostDeath, processes: true},
	{name: "stubborn", what: "ignores end of file and SIGTERM: Close, or kill",
		server: zoo("stubborn"), present: 1, play: playEnd, processes: true},
	{name: "hung call", what: "a call that is never answered, and a server that ignores end of file: Close",
		server: zoo("deaf-hanger"), present: 1, play: playHungCall},
	{name: "pipe held", what: "exits in a call, and a grandchild keeps its stdout: the call (3 s), Close",
		server: zoo("testator"), present: 1, play: playCall("ping", "")},
	{name: "loud", what: "writes 400 KB on stderr before it answers: Connect, Close",
		server: zoo("wailer", "20000"), play: playLife},
	{name: "blocked write", what: "reads nothing after the handshake: a call of 1 MiB with a context of 1 s, Close",
		server: zoo("abstainer"), present: 1, play: playCall("ping", "1 MiB")},
	{name: "root cause", what: "says why on stderr and exits 3 before it reads: Connect",
		server: zoo("brittle"), play: playConnect},
	{name: "killed in a call", what: "dies of SIGKILL in a call: the call, Close",
		server: zoo("suicide"), present: 1, play: playCall("ping", "")},
	{name: "banner", what: "a line of text before every message: Connect, a call, Close",
		server: zoo("chatterbox", "Welcome!\n"), play: playLife},
	{name: "endless line", what: "a line that never ends: Connect with a context of 1 s in 2 GiB of memory",
		server: zoo("endless"), play: playConnect, starved: true},
	{name: "legacy", what: "exits at any first message but initialize: Connect, a call, Close",
		server: zoo("purist"), play: playLife},
}
