package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/stdioguard/stdioguard/procgroup"
)

// workerVar makes a process of this program the one that measures.
const workerVar = "STDIOGUARD_BENCH_WORKER"

// outer runs the benchmark as a process tree of its own, so that nothing of it, the
// leftovers of the peers included, outlives it: not after an interrupt, and not after
// a panic. What anybody writes into the directory for temporary files (leakless
// unpacks its helper there) is in one that is removed at the end.
func outer(args []string) (code int) {
	dir, err := os.MkdirTemp("", "stdioguard-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	defer os.RemoveAll(dir)

	interrupted, stop := signal.NotifyContext(context.Background(), endSignals...)
	defer stop()
	cmd := exec.Command(executable(), args...)
	cmd.Env = append(os.Environ(), workerVar+"=1", "TMPDIR="+dir, "TEMP="+dir, "TMP="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, os.Stdout, os.Stderr
	// No control group: the servers under it should have what they have elsewhere.
	g, err := procgroup.Config{Cgroup: procgroup.CgroupOff, Grace: time.Second}.Start(context.Background(), cmd)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	select {
	case <-g.Done():
	case <-interrupted.Done():
		if err := g.Kill(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		fmt.Fprintln(os.Stderr, "bench: interrupted; nothing is left")
		return 130
	}
	var exit *exec.ExitError
	switch err := g.Wait(); {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
}
