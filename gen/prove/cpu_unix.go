//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns how long CPUs have worked for the process.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
