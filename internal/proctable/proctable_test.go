package proctable

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestListHoldsThisProcessAndItsChild(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestSleeper$")
	child.Env = append(os.Environ(), "PROCTABLE_SLEEPER=1", TokenVar+"=outer,mine,inner")
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	defer child.Wait()
	defer stdin.Close()
	_, err = stdout.Read(make([]byte, 1)) // it runs
	require.NoError(t, err)

	all, err := List()
	require.NoError(t, err)
	rows := make(map[int]Process)
	for _, p := range all {
		rows[p.PID] = p
	}
	me, it := rows[os.Getpid()], rows[child.Process.Pid]
	require.Equal(t, os.Getppid(), me.PPID)
	require.Equal(t, os.Getpid(), it.PPID)
	require.True(t, it.Alive())
	require.GreaterOrEqual(t, it.Start, me.Start)
	require.WithinDuration(t, time.Now(), it.Started(), 10*time.Second)
	require.Contains(t, Argv(it.PID), "-test.run=^TestSleeper$")
	for token, want := range map[string]Carries{"mine": Yes, "min": No} {
		carries, err := Carrier(it, token)
		require.NoError(t, err)
		require.Equal(t, want, carries)
	}

	row, err := Lookup(it.PID)
	require.NoError(t, err)
	require.Equal(t, it.ID(), row.ID())

	stranger := it.ID()
	stranger.Start++
	require.ErrorIs(t, Signal(stranger, syscall.SIGKILL), ErrNoProcess, "an earlier holder of the number")
	for _, pid := range []int{-1, 0, 1} {
		require.ErrorIs(t, Signal(ID{PID: pid}, syscall.SIGKILL), ErrNoProcess)
	}
	require.NoError(t, Signal(it.ID(), syscall.SIGKILL))
	child.Process.Wait()
	_, err = Lookup(it.PID)
	require.ErrorIs(t, err, ErrNoProcess)
	require.ErrorIs(t, Signal(it.ID(), syscall.SIGKILL), ErrNoProcess)
}

func TestSleeper(t *testing.T) {
	if os.Getenv("PROCTABLE_SLEEPER") == "" {
		return // runs in the child of the test above only
	}
	os.Stdout.WriteString("x")
	os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

func TestDescendants(t *testing.T) {
	all := []Process{{PID: 0}, {PID: 1}, {PID: 4, PPID: 3}, {PID: 3, PPID: 2}, {PID: 2, PPID: 1}, {PID: 5, PPID: 1}, {PID: 6, PPID: 4}}
	pids := func(rows []Process) (pids []int) {
		for _, p := range rows {
			pids = append(pids, p.PID)
		}
		return pids
	}
	require.Equal(t, []int{3, 4, 6}, pids(Descendants(all, 2)))
	require.Equal(t, []int{6}, pids(Descendants(all, 4, 5)))
	require.Empty(t, Descendants(all, 99))
}

func TestWithToken(t *testing.T) {
	t.Setenv(TokenVar, "outer")
	require.Equal(t, []string{"A=1", TokenVar + "=outer,mine"}, WithToken([]string{"A=1"}, "mine"))
	require.Equal(t, []string{"B=2", TokenVar + "=given,mine"}, WithToken([]string{TokenVar + "=given", "B=2"}, "mine"))
	require.NotEqual(t, NewToken(), NewToken())
}

func TestTokens(t *testing.T) {
	require.Equal(t, []string{"x", "y"}, Tokens("A=1\x00"+TokenVar+"=x,y\x00"))
	require.Nil(t, Tokens("A=STDIOGUARD_TOKEN=y\x00"+TokenVar+"2=y\x00"+TokenVar+"\x00"))
	require.Equal(t, []string{"x", "y"}, Tokens(TokenVar+"=x\x00"+TokenVar+"=y\x00"))
	value, found := Getenv("AB=1\x00A=2\x00A=3\x00", "A")
	require.True(t, found)
	require.Equal(t, "2", value)
	_, found = Getenv("AB=1\x00", "A")
	require.False(t, found)
	require.True(t, carriesToken("A=1\x00"+TokenVar+"=x,y\x00", "y"))
	require.False(t, carriesToken("A=1\x00"+TokenVar+"=x,yy\x00", "y"))
	require.Equal(t, Yes, shows("A=1\x00"))
	require.Equal(t, Unsure, shows(""))
	require.Equal(t, Unsure, shows("\x00\x00"))
}
