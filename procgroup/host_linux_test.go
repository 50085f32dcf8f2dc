package procgroup_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

// events are the ways in which a host ends a server, or itself. They run in a
// process of their own, as soon as a line comes on its stdin.
var events = map[string]func(g *procgroup.Group, cancel context.CancelFunc){
	"Stop":    func(g *procgroup.Group, _ context.CancelFunc) { must(g.Stop(context.Background())) },
	"Kill":    func(g *procgroup.Group, _ context.CancelFunc) { must(g.Kill()) },
	"context": func(g *procgroup.Group, cancel context.CancelFunc) { cancel(); <-g.Done() },
	"panic, recovered": func(g *procgroup.Group, cancel context.CancelFunc) {
		defer func() { recover(); <-g.Done() }()
		defer cancel()
		panic("recovered")
	},
	"return from main":     func(*procgroup.Group, context.CancelFunc) { dies = false },
	"panic":                func(*procgroup.Group, context.CancelFunc) { panic("in main") },
	"panic in a goroutine": func(*procgroup.Group, context.CancelFunc) { go func() { panic("elsewhere") }(); select {} },
	"os.Exit":              func(*procgroup.Group, context.CancelFunc) { os.Exit(1) },
	"syscall.Exit":         func(*procgroup.Group, context.CancelFunc) { syscall.Exit(1) },
	"log.Fatal":            func(*procgroup.Group, context.CancelFunc) { log.Fatal("fatal") },
	"concurrent map write": func(*procgroup.Group, context.CancelFunc) { concurrentMapWrite() },
	"stack overflow":       func(*procgroup.Group, context.CancelFunc) { overflow(0) },
	"SIGKILL":              func(*procgroup.Group, context.CancelFunc) { raise(syscall.SIGKILL) },
	"SIGTERM":              func(*procgroup.Group, context.CancelFunc) { raise(syscall.SIGTERM) },
	"SIGINT":               func(*procgroup.Group, context.CancelFunc) { raise(syscall.SIGINT) },
	"SIGQUIT":              func(*procgroup.Group, context.CancelFunc) { raise(syscall.SIGQUIT) },
	"SIGSEGV":              func(*procgroup.Group, context.CancelFunc) { raise(syscall.SIGSEGV) },
	"terminal Ctrl-C":      func(*procgroup.Group, context.CancelFunc) { select {} }, // the test types it
	"terminal hangup":      func(*procgroup.Group, context.CancelFunc) { select {} }, // the test closes it
}

// hostLives: after these the host is still there.
var hostLives = map[string]bool{"Stop": true, "Kill": true, "context": true, "panic, recovered": true}

// dies is false for the one host that is to return from main.
var dies = true

func host(event string) int {
	if run := hosts[event]; run != nil {
		return run()
	}
	config := procgroup.Config{}
	if column, rest, ok := strings.Cut(event, ": "); ok {
		config, event = columns[column], rest
	}
	config.Grace = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := servers.Command("clan")
	stdin, err := cmd.StdinPipe()
	must(err)
	defer stdin.Close()
	g, err := config.Start(ctx, cmd)
	must(err)
	fmt.Println(g.Pid())
	bufio.NewReader(os.Stdin).ReadString('\n')
	events[event](g, cancel)
	if hostLives[event] {
		fmt.Println("done")
		bufio.NewReader(os.Stdin).ReadString('\n') // until the test has looked
	}
	return 0
}

// startOnly is killed somewhere in here.
func startOnly() int {
	fmt.Println("starting")
	cmd := servers.Command("clan")
	stdin, err := cmd.StdinPipe()
	must(err)
	defer stdin.Close()
	_, err = procgroup.Start(context.Background(), cmd)
	must(err)
	select {}
}

// leak starts a server and then a process that inherits every descriptor of this
// one. It says so and waits to be killed.
func leak() int {
	cmd := servers.Command("clan")
	stdin, err := cmd.StdinPipe()
	must(err)
	_, err = procgroup.Start(context.Background(), cmd)
	must(err)
	holder := servers.Command("sleeper")
	for fd := uintptr(3); fd < 32; fd++ {
		if dup, err := syscall.Dup(int(fd)); err == nil {
			holder.ExtraFiles = append(holder.ExtraFiles, os.NewFile(uintptr(dup), "copy"))
		}
	}
	must(holder.Start())
	fmt.Println("leaked", stdin != nil)
	select {}
}

// signals shows what the server gets of them, and dies of one.
func signals() int {
	show := exec.Command("grep", "SigIgn", "/proc/self/status")
	show.Stdout = os.Stdout
	g, err := procgroup.Start(context.Background(), show)
	must(err)
	must(g.Wait())
	die := exec.Command("perl", "-e", `use POSIX; sigprocmask(SIG_UNBLOCK, POSIX::SigSet->new(SIGUSR1)); kill USR1 => $$; sleep 60`)
	g, err = procgroup.Start(context.Background(), die)
	must(err)
	fmt.Println(g.Wait())
	return 0
}

// containment prints what this user gets.
func containment() int {
	for name, mode := range map[string]procgroup.CgroupMode{"auto": procgroup.CgroupAuto, "require": procgroup.CgroupRequire} {
		g, err := procgroup.Config{Cgroup: mode}.Start(context.Background(), exec.Command("sleep", "60"))
		if err != nil {
			fmt.Printf("%s: %v\n", name, err)
			continue
		}
		fmt.Printf("%s: %v\n", name, g.Containment())
		must(g.Kill())
	}
	return 0
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(99)
	}
}

func raise(sig syscall.Signal) {
	syscall.Kill(os.Getpid(), sig)
	select {}
}

func concurrentMapWrite() {
	runtime.GOMAXPROCS(8) // one thread would never be interrupted in the middle of a write
	m := make(map[int]int)
	for range 8 {
		go func() {
			for i := 0; ; i++ {
				m[i%8] = i
			}
		}()
	}
	select {}
}

// overflow recurses until the stack, which is made small for it, is full.
func overflow(n int) {
	debug.SetMaxStack(1 << 20)
	var deeper func(int) int
	deeper = func(n int) int { return deeper(n+1) + n }
	os.Exit(deeper(n))
}

// hostCommand is this test binary as a host.
func hostCommand(event string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), hostVar+"="+event, "GORACE=atexit_sleep_ms=0", "GOTRACEBACK=none")
	return cmd
}
