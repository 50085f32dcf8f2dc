package guardian

import "syscall"

// cgroup is a control group of the server's own (cgroups(7), version 2). Its
// cgroup.kill is the one signal that no fork outruns, that no session, daemon or
// change of user escapes, and that needs no list of anybody.
type cgroup struct {
	dir string // "" where there is none
	fd  int
}

// newCgroup makes one below the parent, with the limits that are not empty.
func newCgroup(s Spec) (c cgroup, err error) {
	// The pid tells whoever finds the directory whether its guardian lives.
	dir := s.Cgroup + "/" + CgroupPrefix + decimal(syscall.Getpid()) + "-" + s.Nonce
	if err := syscall.Mkdir(dir, 0o755); err != nil {
		return c, err
	}
	if s.MaxMemory != "" || s.MaxPids != "" {
		// Without effect where it is on already, and refused where processes
		// live beside the new group: the limit's own file then says no.
		write(s.Cgroup+"/cgroup.subtree_control", "+memory +pids")
	}
	for _, limit := range [][2]string{{"memory.max", s.MaxMemory}, {"pids.max", s.MaxPids}} {
		if limit[1] != "" && err == nil {
			err = write(dir+"/"+limit[0], limit[1])
		}
	}
	c = cgroup{dir: dir, fd: -1}
	if err == nil {
		c.fd, err = syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		c.remove()
		return cgroup{}, err
	}
	return c, nil
}

// admits tells whether a process can be started in the group: one whose program
// cannot exist fails as late as that.
func (c cgroup) admits() bool {
	_, err := syscall.ForkExec("/dev/null/none", []string{"none"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: c.fd},
	})
	return err == syscall.ENOTDIR
}

// kill ends all processes in the group and in the groups below it.
func (c cgroup) kill() {
	if c.dir != "" {
		write(c.dir+"/cgroup.kill", "1")
	}
}

// remove takes the directory away, and what a server of containers left in it.
func (c cgroup) remove() {
	if c.dir != "" {
		removeTree(c.dir, 8)
	}
}

func removeTree(dir string, depth int) {
	if syscall.Rmdir(dir) == nil || depth == 0 {
		return
	}
	for _, name := range names(dir) {
		// Rmdir fails for the files, which go with their directory.
		removeTree(dir+"/"+name, depth-1)
	}
	syscall.Rmdir(dir)
}

func write(path, text string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(text))
	return err
}
