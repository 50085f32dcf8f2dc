package integration

import "syscall"

const sigKill = syscall.SIGKILL
