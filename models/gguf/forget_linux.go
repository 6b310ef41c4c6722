package gguf

import (
	"os"
	"syscall"
	"unsafe"
)

// forget tells the system that whole pages of data are not needed for now.
func forget(data []byte) {
	page := uintptr(os.Getpagesize())
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	skip := (page - begin%page) % page
	if uintptr(len(data)) < skip+page {
		return
	}
	n := (uintptr(len(data)) - skip) / page * page
	_ = syscall.Madvise(data[skip:skip+n], syscall.MADV_DONTNEED) // it is no harm if they stay
}
