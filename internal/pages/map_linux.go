package pages

import "syscall"

const adviseHuge = 14 // MADV_HUGEPAGE

// mapPages maps n bytes of zeros, in huge pages if the kernel has some. It returns nil
// where that fails.
func mapPages(n int) []byte {
	m, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	_ = syscall.Madvise(m, adviseHuge) // a wish, no more
	return m
}

func unmap(m []byte) { _ = syscall.Munmap(m) }
