//go:build dragonfly || linux || openbsd

package packed

import "syscall"

func changeTime(st *syscall.Stat_t) syscall.Timespec { return st.Ctim }
