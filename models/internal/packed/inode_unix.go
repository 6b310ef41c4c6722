//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package packed

import (
	"io/fs"
	"syscall"
)

// inode returns what the system says of a file beside its size and its time of change.
func inode(info fs.FileInfo) []int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	changed := changeTime(st)
	return []int64{int64(st.Dev), int64(st.Ino), int64(changed.Sec), int64(changed.Nsec)}
}
