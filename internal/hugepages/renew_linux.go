package hugepages

import "syscall"

const (
	adviseDontNeed = 4  // MADV_DONTNEED
	adviseHuge     = 14 // MADV_HUGEPAGE
)

// renew gives whole pages of zeros back to the system, which will put huge pages of zeros
// in their place when they are used. It is a wish, no more.
func renew(m []byte) {
	if syscall.Madvise(m, adviseHuge) == nil {
		_ = syscall.Madvise(m, adviseDontNeed)
	}
}
