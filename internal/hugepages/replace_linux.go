package hugepages

import "syscall"

const (
	adviseDontNeed = 4  // MADV_DONTNEED
	adviseHuge     = 14 // MADV_HUGEPAGE
)

// replace returns whole pages of zeros to the operating system, which replaces them by huge
// pages of zeros when they are used next. If it does not, nothing is lost but speed.
func replace(m []byte) {
	if syscall.Madvise(m, adviseHuge) == nil {
		_ = syscall.Madvise(m, adviseDontNeed)
	}
}
