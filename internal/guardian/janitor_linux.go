package guardian

import "syscall"

func init() {
	value, found := syscall.Getenv(JanitorVar)
	if !found {
		return
	}
	fd, host, token, ok := parseVar(value)
	if !ok {
		return
	}
	if !madeBy(fd, host) {
		// Who merely inherited the variable goes on as usual. A child of the
		// process in it was meant, and must not run the host's tests once more.
		if syscall.Getppid() == host {
			syscall.Exit(1)
		}
		return
	}
	j := &janitor{guard: guard{socket: fd, host: host, spec: Spec{Files: 3}}, token: token}
	j.run()
	syscall.Exit(0)
}

// The times of a cleaning. It ends with two looks in a row, with a pause between, that
// find nobody: one can fall between a birth and the death of the parent.
const (
	cleanMillis  = 3000 // all of it
	unsureMillis = 50   // for a process without an environment, which may be inside execve
	guardMillis  = 2000 // for guardians, which end with what they guard, and tidy up
	gapMillis    = 4
)

// leftover is a process: its number and its start.
type leftover struct {
	pid   int
	start uint64
}

type janitor struct {
	guard
	token     string
	hostStart uint64
	spared    []leftover

	// strangers do not have the token, and never will: they are not read again.
	strangers map[int]bool

	found map[leftover]string // what was killed, and its description
	order []leftover
	alive map[leftover]bool // of those, who was there at the last look
}

func (j *janitor) run() {
	j.strangers, j.found = make(map[int]bool), make(map[leftover]string)
	j.closeStrangers()
	deafen()
	j.pidfd = pidfdOpen(j.host)
	_, j.hostStart = statOf(j.host)
	if !j.await() {
		return
	}
	j.clean()
	j.tell()
}

// await blocks until the host is dead. It reports whether there is something to do.
func (j *janitor) await() bool {
	for {
		// End of file is not the host's death: a test may close all descriptors.
		fds := []pollFD{{fd: int32(j.socket), events: pollIn}, {fd: int32(j.pidfd), events: pollIn}}
		limit := -1
		if j.pidfd < 0 {
			limit = 50
		}
		poll(fds, limit)
		// The order matters: what the host has said before it died counts.
		gone := fds[1].revents != 0 || syscall.Getppid() != j.host
		if j.socket >= 0 && (gone || fds[0].revents != 0) && !j.listen() {
			return false
		}
		if gone {
			return true
		}
	}
}

// listen reads what the host has said, and reports false if that was a dismissal.
func (j *janitor) listen() bool {
	for {
		var b [messageSize]byte
		n, _, err := syscall.Recvfrom(j.socket, b[:], syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		case err != nil || n < messageSize:
			j.socket = -1
			return true
		case get64(b[:]) == 0:
			return false
		default:
			j.spared = append(j.spared, leftover{int(get64(b[:])), get64(b[8:])})
		}
	}
}

func (j *janitor) clean() {
	begin := now()
	for quiet := 0; quiet < 2 && now() < begin+cleanMillis; {
		busy, unsure := j.look(now() >= begin+guardMillis)
		if busy || unsure && now() < begin+unsureMillis {
			quiet = 0
		} else {
			quiet++
		}
		if quiet < 2 {
			pause(gapMillis)
		}
	}
}

// look kills whoever carries the token. Guardians are killed only at last.
func (j *janitor) look(guardians bool) (busy, unsure bool) {
	j.alive = make(map[leftover]bool)
	for _, name := range names("/proc") {
		pid, _, ok := number(name + " ")
		if !ok || pid == syscall.Getpid() || j.strangers[pid] {
			continue
		}
		kernel, start := statOf(pid)
		if kernel || start < j.hostStart {
			j.strangers[pid] = start > 0
			continue
		}
		switch environ, shown := environOf(pid); {
		case !shown: // of another user, or gone
		case environ == "":
			unsure = unsure || start > 0
		case !j.carries(environ):
			// Right after a fork it has the environment of its parent, and that of the
			// host itself has no token in it.
			j.strangers[pid] = start+ticksPerSecond < uptime()
		default:
			_, guards := inEnviron(environ, Var)
			busy = (guards && !guardians || j.end(pid)) || busy
		}
	}
	return busy, unsure
}

func (j *janitor) carries(environ string) bool {
	list, _ := inEnviron(environ, "STDIOGUARD_TOKEN")
	_, toolchain := inEnviron(environ, ToolchainVar)
	return !toolchain && inList(list, j.token)
}

// end kills a process that carries the token, and reports whether it may be there still. The
// number is held by a pidfd while it is asked once more whose it is.
func (j *janitor) end(pid int) bool {
	const sysPidfdSendSignal = 424
	fd := pidfdOpen(pid)
	defer syscall.Close(fd)
	_, start := statOf(pid)
	who := leftover{pid, start}
	environ, shown := environOf(pid)
	switch {
	case start == 0, j.isSpared(who):
		return false
	case !j.carries(environ):
		return shown && environ == "" // inside execve since
	}
	if _, known := j.found[who]; !known {
		j.found[who] = describe(pid, readFile("/proc/"+decimal(pid)+"/cmdline"))
		j.order = append(j.order, who)
	}
	j.alive[who] = true
	if fd >= 0 {
		syscall.Syscall6(sysPidfdSendSignal, uintptr(fd), uintptr(syscall.SIGKILL), 0, 0, 0, 0)
	} else {
		syscall.Kill(pid, syscall.SIGKILL) // numbers are given out in a circle
	}
	return true
}

func (j *janitor) isSpared(who leftover) bool {
	for _, s := range j.spared {
		if s == who {
			return true
		}
	}
	return false
}

// tell writes on stderr who was killed, as far as anybody reads it.
func (j *janitor) tell() {
	const most = 64
	if len(j.order) == 0 {
		return
	}
	text := "leakcheck: the test binary (pid " + decimal(j.host) + ") is dead and has left behind, killed now:\n"
	for i, who := range j.order {
		if i == most {
			text += "    and " + decimal(len(j.order)-most) + " more\n"
			break
		}
		text += "    " + j.found[who]
		if j.alive[who] {
			text += "  (lives on)"
		}
		text += "\n"
	}
	const atOnce = 4096 // PIPE_BUF: as much as fits a pipe that poll calls ready
	for len(text) > 0 && poll([]pollFD{{fd: 2, events: pollOut}}, 1000) {
		n, err := syscall.Write(2, []byte(text[:min(len(text), atOnce)]))
		if err != nil && err != syscall.EINTR {
			return
		}
		text = text[max(n, 0):]
	}
}
