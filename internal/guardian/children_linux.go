package guardian

import "syscall"

// children returns the children of a process, zombies included; 0 is this one.
// proc_pid_task_children(5) lists them for each thread: all have to be asked. A
// kernel without that file (CONFIG_PROC_CHILDREN) is asked for everybody's parent.
func children(pid int) (pids []int) {
	if pid == 0 {
		pid = syscall.Getpid()
	}
	dir := "/proc/" + decimal(pid) + "/task/"
	if syscall.Access(dir+decimal(pid)+"/children", 4) == syscall.ENOENT && syscall.Access(dir, 4) == nil {
		return childrenByParent(pid)
	}
	for _, task := range names(dir) {
		list := readFile(dir + task + "/children")
		for len(list) > 0 {
			n, rest, ok := number(list)
			if !ok {
				break
			}
			pids, list = append(pids, n), rest
		}
	}
	return pids
}

func childrenByParent(parent int) (pids []int) {
	for _, name := range names("/proc") {
		pid, _, ok := number(name + " ")
		if !ok {
			continue
		}
		// " S 123": the state and the parent.
		stat := behindName(readFile("/proc/" + name + "/stat"))
		if len(stat) < 4 {
			continue
		}
		if up, _, ok := number(stat[3:]); ok && up == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// behindName returns what follows the name of a process: it may hold anything, so
// the fixed fields begin behind the last parenthesis (proc_pid_stat(5)).
func behindName(stat string) string {
	for end := len(stat); end > 0; end-- {
		if stat[end-1] == ')' {
			return stat[end:]
		}
	}
	return ""
}

// children returns those of this process.
func (*guard) children() []int { return children(0) }

// descendants returns the tree of this process, parents before children.
func (*guard) descendants() []int {
	all := children(0)
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// scratch is for one look at a time, and they come one at a time: a storm is no
// moment to wake the garbage collector, which may want threads that a limit denies.
var scratch [16 << 10]byte

// names lists a directory of numbers.
func names(dir string) (list []string) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	buf := scratch[:]
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return list
		}
		_, _, list = syscall.ParseDirent(buf[:n], -1, list)
	}
}

func readFile(path string) string {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer syscall.Close(fd)
	var all []byte
	buf := scratch[:]
	for {
		n, err := syscall.Read(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return string(all)
		}
		all = append(all, buf[:n]...)
	}
}
