package apiserver

import "syscall"

// endWithParent has the kernel kill a process when this one ends, however that happens.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
