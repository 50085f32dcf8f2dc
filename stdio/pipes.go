package stdio

import (
	"cmp"
	"os"
)

// pipes are the three pipes to a server. They are our own and not those of exec.Cmd:
// cmd.Wait closes its pipes when the process has ended, with the last reply still in
// them. Those that are read from have deadlines. That to stdin has none on Windows,
// where a write that was cut short does not tell how much of it was taken.
type pipes struct {
	stdin, stdout, stderr                *os.File
	childStdin, childStdout, childStderr *os.File
}

func newPipes() (p pipes, err error) {
	var errs [3]error
	p.childStdin, p.stdin, errs[0] = os.Pipe()
	p.stdout, p.childStdout, errs[1] = outletPipe()
	p.stderr, p.childStderr, errs[2] = outletPipe()
	if err := cmp.Or(errs[:]...); err != nil { // what one is short of, so are the others
		p.closeChild()
		p.closeOurs()
		return pipes{}, err
	}
	return p, nil
}

// closeChild lets go of the child's ends: with them open here, there would be no
// end of file.
func (p pipes) closeChild() { closeAll(p.childStdin, p.childStdout, p.childStderr) }

func (p pipes) closeOurs() { closeAll(p.stdin, p.stdout, p.stderr) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
