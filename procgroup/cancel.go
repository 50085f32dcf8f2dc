package procgroup

import (
	"context"
	"os"
	"os/exec"
	"reflect"
)

// cancelWith makes the end of the context of exec.CommandContext kill the tree, and
// calls a Cancel function of the caller's as well.
func (g *Group) cancelWith(cmd *exec.Cmd) {
	own := cmd.Cancel
	if own == nil {
		return // there is no context
	}
	cmd.Cancel = func() error {
		// Both at once: what the caller does may block, and is often to note why
		// the tree is about to end.
		killed := make(chan error, 1)
		go func() { killed <- g.cancel() }()
		if !isDefaultCancel(own) {
			own()
		}
		return <-killed
	}
}

// cancel is what exec.Cmd calls when the context of exec.CommandContext ends.
func (g *Group) cancel() error {
	select {
	case <-g.done:
		return os.ErrProcessDone
	default:
		g.killOnce.Do(func() { close(g.kill) })
		return nil
	}
}

// isDefaultCancel recognises the function that exec.CommandContext sets. It kills
// the child of the host, which may be the guardian, and is replaced.
func isDefaultCancel(cancel func() error) bool {
	byDefault := exec.CommandContext(context.Background(), "x").Cancel
	return reflect.ValueOf(cancel).Pointer() == reflect.ValueOf(byDefault).Pointer()
}
