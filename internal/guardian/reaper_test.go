package guardian

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The sizes that the kernel of FreeBSD copies in and out.
func TestReaperLayout(t *testing.T) {
	require.EqualValues(t, 80, unsafe.Sizeof(reaperStatus{}))
	require.EqualValues(t, 72, unsafe.Sizeof(reaperPidinfo{}))
	require.EqualValues(t, 4, unsafe.Offsetof(reaperStatus{}.children))
	require.EqualValues(t, 16, unsafe.Offsetof(reaperStatus{}.first))
	require.EqualValues(t, 4, unsafe.Offsetof(reaperPidinfo{}.subtree))
	require.EqualValues(t, 8, unsafe.Offsetof(reaperPidinfo{}.flags))
}

func TestEmptyReaper(t *testing.T) {
	empty := reaperStatus{flags: statusOwned, reaper: 7, first: -1}
	require.True(t, empty.isEmptyReaper(7))
	require.False(t, empty.isEmptyReaper(8))
	require.False(t, reaperStatus{reaper: 7, first: -1}.isEmptyReaper(7), "somebody above reaps")
	require.False(t, reaperStatus{flags: statusOwned, reaper: 7}.isEmptyReaper(7))
}

func TestFilledEntries(t *testing.T) {
	list := []reaperPidinfo{
		{pid: 10, flags: pidinfoValid | pidinfoChild},
		{pid: 11, flags: pidinfoValid},
		{pid: 12, flags: pidinfoValid | pidinfoChild | 8}, // a zombie
		{},
	}
	pids, full := filled(list, pidinfoChild)
	require.False(t, full)
	require.Equal(t, []int{10, 12}, pids)
	pids, full = filled(list[:3], 0)
	require.True(t, full)
	require.Equal(t, []int{10, 11, 12}, pids)
	pids, full = filled(nil, 0)
	require.True(t, full)
	require.Empty(t, pids)
}
