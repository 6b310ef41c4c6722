package kernel

import (
	"math"
	"syscall"
	"unsafe"
)

const (
	hugePage   = 2 << 20
	leastHuge  = 2 * hugePage // bytes that are worth it
	adviseHuge = 14           // MADV_HUGEPAGE
)

// mapPages maps at least n bytes of zeros outside of Go's heap, in huge pages if the
// kernel has some; the first starts where a huge page does. It returns nil where that
// fails, or is not worth it.
//
// Weights that come from memory are read a third faster from huge pages (35 instead of
// 25 GB/s by one core of a virtual machine on Zen 4): a page of 4 KiB is over soon after
// the processor has begun to fetch ahead, and then the next one must be looked up. Most
// distributions give huge pages to those alone who ask, and who have not used the memory
// yet: Go's heap may have.
func mapPages(n int) *mapping {
	if n < leastHuge || n > math.MaxInt-hugePage {
		return nil
	}
	all, err := syscall.Mmap(-1, 0, n+hugePage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	_ = syscall.Madvise(all, adviseHuge) // a wish, no more
	skip := int(-uintptr(unsafe.Pointer(&all[0])) % hugePage)
	return &mapping{all, all[skip : skip+n]}
}

// A mapping is memory outside of Go's heap.
type mapping struct{ all, bytes []byte }

// unmap gives the memory back.
func (m *mapping) unmap() { _ = syscall.Munmap(m.all) }
