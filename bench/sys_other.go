//go:build !unix

package main

import (
	"errors"
	"os"
	"syscall"
)

var endSignals = []os.Signal{os.Interrupt}

func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(int) error { return errors.ErrUnsupported }

func openFiles() int { return 0 }

func descriptors() (int, error) { return 0, errors.ErrUnsupported }
