package procgroup_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stdioguard/stdioguard/procgroup"
)

// A number that the host leaves out is closed to the server, as with os/exec, and
// the guardian does not lose a descriptor of its own to it.
func TestExtraFilesMayHaveHoles(t *testing.T) {
	for name, c := range map[string]procgroup.Config{
		"guardian": {Cgroup: procgroup.CgroupOff}, "default": {}, "direct": {NoGuardian: true},
	} {
		t.Run(name, func(t *testing.T) {
			last, w, err := os.Pipe()
			require.NoError(t, err)
			io.WriteString(w, "through descriptor 6\n")
			w.Close()
			defer last.Close()
			closed := "3 4 5 7"
			if flags, err := unix.FcntlInt(7, unix.F_GETFD, 0); c.NoGuardian && err == nil && flags&unix.FD_CLOEXEC == 0 {
				closed = "3 4 5" // this process has inherited the last one, and os/exec lets it through as well
			}
			cmd := exec.Command("sh", "-c", `
				sleep 0.2
				for fd in `+closed+`; do [ -e /proc/$$/fd/$fd ] && echo open: $fd; done
				cat <&6`)
			cmd.ExtraFiles = []*os.File{nil, nil, nil, last}
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			g, err := c.Start(t.Context(), cmd)
			require.NoError(t, err)
			require.NoError(t, g.Wait())
			require.Equal(t, "through descriptor 6\n", out.String())
		})
	}
}
