package hugepages

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

const (
	adviseDontNeed = 4  // MADV_DONTNEED
	adviseHuge     = 14 // MADV_HUGEPAGE
	adviseNotHuge  = 15 // MADV_NOHUGEPAGE
)

// replace returns whole pages of zeros to the operating system, which replaces them by huge
// pages of zeros when they are used next. If it does not, nothing is lost but speed. m is
// part of the object that owner points to.
func replace[E any](m []byte, owner *E) {
	if syscall.Madvise(m, adviseHuge) != nil {
		return
	}
	_ = syscall.Madvise(m, adviseDontNeed)
	if !onlyOnRequest() {
		return
	}
	r := span{uintptr(unsafe.Pointer(unsafe.SliceData(m))), uintptr(len(m))}
	requested.add(r)
	runtime.AddCleanup(owner, requested.end, r)
}

// onlyOnRequest tells whether the system uses huge pages only where a program asks for
// them. Elsewhere there is nothing to undo.
var onlyOnRequest = sync.OnceValue(func() bool {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && bytes.Contains(mode, []byte("[madvise]"))
})

// A span is a range of memory. It keeps nothing alive.
type span struct{ start, size uintptr }

// requested holds the spans for which huge pages have been asked for.
var requested spans

type spans struct {
	mu  sync.Mutex
	all map[span]int // how often each
}

func (s *spans) add(r span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[span]int{}
	}
	s.all[r]++
}

// end is called some time after the memory of r has become garbage. The heap uses it for
// other things then, which should not take huge pages: a page of 2 MiB stays in memory as
// long as any part of it is used. If r has become memory of Make again, nothing is undone.
func (s *spans) end(r span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[r]--; s.all[r] == 0 {
		delete(s.all, r)
	}
	for other := range s.all {
		if other.start < r.start+r.size && r.start < other.start+other.size {
			return
		}
	}
	// An error leaves the memory as it is.
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, r.start, r.size, adviseNotHuge)
}
