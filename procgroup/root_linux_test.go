package procgroup_test

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdioguard/stdioguard/internal/proctable"
	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: needs root")
	}
}

// needsUsers skips a test that is not run by somebody who can start a program as any
// user: root in a namespace with no other user cannot.
func needsUsers(t *testing.T, id uint32) {
	t.Helper()
	needsRoot(t)
	cmd := exec.Command("true")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	if err := cmd.Run(); err != nil {
		t.Skip("SKIPPED: no program can be started as another user here: ", err)
	}
}

// The directory is one of the new root, where only the kernel can look.
func TestDirIsThatOfTheNewRoot(t *testing.T) {
	needsRoot(t)
	jail := func() *exec.Cmd {
		cmd := exec.Command("/bin/pwd")
		cmd.Dir = "/share" // which is there in /usr and not in /
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: "/usr"}
		return cmd
	}
	if _, err := os.Stat("/share"); err == nil {
		t.Skip("SKIPPED: this machine has a /share")
	}
	if out, err := jail().Output(); string(out) != "/share\n" {
		t.Skip("SKIPPED: /usr is no root that a program can run in: ", err)
	}
	each(t, func(t *testing.T, c procgroup.Config) {
		cmd := jail()
		var out strings.Builder
		cmd.Stdout = &out
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		require.NoError(t, g.Wait())
		require.Equal(t, "/share\n", out.String())
	})
}

// An ordinary user's server has an ordinary user's guardian, and root still ends it.
func TestServerOfAnotherUser(t *testing.T) {
	const nobody = 54321
	needsUsers(t, nobody)
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Chmod(self, 0o755)) // he runs it, whatever the umask was
	each(t, func(t *testing.T, c procgroup.Config) {
		cmd := exec.Command("sh", "-c", "id -u; id -g; sleep 60 & setsid sleep 60 & wait")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		g, err := c.Start(t.Context(), cmd)
		require.NoError(t, err)
		said := make([]byte, len("54321\n54321\n"))
		_, err = io.ReadFull(out, said)
		require.NoError(t, err)
		require.Equal(t, "54321\n54321\n", string(said))
		if !c.NoGuardian {
			require.EqualValues(t, nobody, ownerOf(t, guardianOf(t, g).PID))
		}
		require.Eventually(t, func() bool {
			members, err := g.Members()
			return err == nil && len(members) == 3
		}, 20*time.Second, 5*time.Millisecond)
		require.NoError(t, g.Kill())
	})
}

func ownerOf(t *testing.T, pid int) uint32 {
	t.Helper()
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	require.NoError(t, err)
	return info.Sys().(*syscall.Stat_t).Uid
}

// The leader's status is stolen and its number given to a stranger, a leader of a
// group as well, while what it left behind is still to be killed.
func TestStrangerWithTheLeadersNumberIsNotSignalled(t *testing.T) {
	needsRoot(t)
	for _, way := range []string{"Kill", "Signal"} {
		t.Run(way, func(t *testing.T) {
			w := servers.NewWitness(t)
			cmd := w.Watch(servers.Command("emigrant", "setsid", "orphan", "stubborn"))
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			gate := make(chan struct{})
			g, err := procgroup.Gated(procgroup.Config{NoGuardian: true}, gate).Start(t.Context(), cmd)
			require.NoError(t, err)
			w.Await(t, "emigrant", "stubborn-sleeper")
			stolen := make(chan error, 1)
			go func() { _, err := syscall.Wait4(g.Pid(), nil, 0, nil); stolen <- err }()
			stdin.Close()
			require.NoError(t, <-stolen)
			open := sync.OnceFunc(func() { close(gate) })
			defer open()
			stranger := reuse(t, g.Pid())
			if way == "Signal" {
				require.NoError(t, g.Signal(syscall.SIGKILL))
			}
			open()
			require.NoError(t, g.Kill())
			w.Gone(t)
			p, err := proctable.Lookup(stranger.Process.Pid)
			require.NoError(t, err)
			require.True(t, p.Alive(), "a stranger was killed")
		})
	}
}

// And once more when the tree is gone, of either kind.
func TestNobodyIsSignalledAfterTheReap(t *testing.T) {
	needsRoot(t)
	each(t, func(t *testing.T, c procgroup.Config) {
		g, err := c.Start(t.Context(), exec.Command("sleep", "60"))
		require.NoError(t, err)
		require.NoError(t, g.Kill())
		stranger := reuse(t, g.Pid())
		require.NoError(t, g.Signal(syscall.SIGKILL))
		require.NoError(t, g.Stop(t.Context()))
		require.NoError(t, g.Kill())
		members, err := g.Members()
		require.NoError(t, err)
		require.Empty(t, members)
		p, err := proctable.Lookup(stranger.Process.Pid)
		require.NoError(t, err)
		require.True(t, p.Alive(), "a stranger was killed")
	})
}

// reuse starts a process that has this number and leads a group.
func reuse(t *testing.T, pid int) *exec.Cmd {
	t.Helper()
	for range 300 {
		err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0)
		if err != nil {
			t.Skip("SKIPPED: numbers cannot be forced here: ", err)
		}
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		require.NoError(t, cmd.Start())
		if cmd.Process.Pid == pid {
			t.Cleanup(func() {
				cmd.Process.Kill()
				cmd.Wait()
			})
			return cmd
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Skip("SKIPPED: others start so many processes that the number was never ours")
	return nil
}
