package proctable

import "syscall"

const sigKill = syscall.SIGKILL
