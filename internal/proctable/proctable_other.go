//go:build !linux && !darwin && !freebsd && !windows

package proctable

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

var errOther = fmt.Errorf("%w: %s: %w", ErrIncomplete, runtime.GOOS, errors.ErrUnsupported)

func list() ([]Process, error) { return nil, errOther }

func lookup(int) (Process, error) { return Process{}, errOther }

func signalID(ID, syscall.Signal) error { return errOther }

func argv(int) []string { return nil }

// environment must not say No of a process that it cannot look into.
func environment(Process) (string, Carries, error) { return "", Unsure, nil }

func startTime(uint64) time.Time { return time.Time{} }
