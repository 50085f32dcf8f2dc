package procgroup_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stdioguard/stdioguard/procgroup"
	"github.com/stdioguard/stdioguard/testdata/servers"
)

func init() {
	for kind, c := range kinds {
		hosts["wait4(-1), "+kind] = func() int { return thief(c, waitForAll) }
		hosts["SIGCHLD ignored, "+kind] = func() int { return thief(c, func() { signal.Ignore(syscall.SIGCHLD) }) }
	}
}

// waitForAll takes every status that there is to be had in this process.
func waitForAll() {
	go func() {
		for {
			syscall.Wait4(-1, nil, 0, nil)
		}
	}()
}

// thief is a host in which the status of every child is taken by somebody else. It
// starts a server, tells when that is about to end, and what came of it.
func thief(c procgroup.Config, steal func()) int {
	cmd := servers.Command("emigrant", "orphan", "forgetful", "stubborn")
	stdin, err := cmd.StdinPipe()
	must(err)
	g, err := c.Start(context.Background(), cmd)
	must(err)
	steal()
	fmt.Println("started")
	bufio.NewReader(os.Stdin).ReadString('\n')
	stdin.Close()
	<-g.Exited()
	must(g.Stop(context.Background()))
	// A guardian's status is there to be had by either.
	if err := g.Wait(); err != nil && !errors.Is(err, procgroup.ErrStatusUnknown) {
		fmt.Println("Wait:", err)
		return 1
	}
	fmt.Println("stopped")
	bufio.NewReader(os.Stdin).ReadString('\n') // until the test has looked
	return 0
}

// The leader leaves somebody behind whom only the number of the group gives away, and
// that number is not pinned by a zombie, for the zombie is gone.
func TestLeftoversOfAStolenLeaderAreEnded(t *testing.T) {
	for kind := range kinds {
		for _, way := range []string{"wait4(-1)", "SIGCHLD ignored"} {
			t.Run(way+"/"+kind, func(t *testing.T) {
				if kind == "direct" && !pidfdKnowsGroups(t) {
					t.Skip("SKIPPED: this kernel knows a group by its number only")
				}
				w := servers.NewWitness(t)
				h := startHost(t, w.Watch(hostCommand(way+", "+kind)))
				require.Equal(t, "started", h.line(t))
				w.Await(t, "emigrant", "stubborn-sleeper")
				h.proceed(t)
				require.Equal(t, "stopped", h.line(t))
				w.Gone(t)
				h.proceed(t)
				require.NoError(t, h.cmd.Wait())
			})
		}
	}
}

// pidfdKnowsGroups: PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9.
func pidfdKnowsGroups(t *testing.T) bool {
	t.Helper()
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	err = unix.PidfdSendSignal(fd, 0, nil, 4)
	return !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS)
}
