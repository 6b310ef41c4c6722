//go:build darwin || freebsd || netbsd

package packed

import "syscall"

func changeTime(st *syscall.Stat_t) syscall.Timespec { return st.Ctimespec }
