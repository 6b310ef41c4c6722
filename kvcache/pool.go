package kvcache

import (
	"fmt"
	"sync"
)

// A pagePool knows which pages of a cache are free, and how many sequences share each of
// the others.
type pagePool struct {
	mu   sync.Mutex
	free []int32 // the next one last
	refs []int32 // per page
}

// CapacityError reports a cache with too few free pages. Nothing has changed. A program can
// free or truncate sequences and try again.
type CapacityError struct {
	Where string // the function
	Need  int    // pages that the call needs
	Free  int    // pages that are free, with those that the call would have dropped
}

// Error returns the function, and the numbers of pages that are needed and free.
func (e *CapacityError) Error() string {
	return fmt.Sprintf("%s: the cache: %d free pages, want %d", e.Where, e.Free, e.Need)
}

// newPagePool returns a pool of n free pages. The first ones are taken first, so that the pages of
// a new sequence are neighbours.
func newPagePool(n int) *pagePool {
	p := &pagePool{refs: make([]int32, n), free: make([]int32, n)}
	for i := range p.free {
		p.free[i] = int32(n - 1 - i)
	}
	return p
}

// left returns the number of free pages.
func (p *pagePool) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free)
}

// take releases the pages that are gone and appends n free ones to dst, each for one
// sequence. If there are too few, it does neither. where is the exported function.
func (p *pagePool) take(where string, dst []int32, n int, gone ...int32) ([]int32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.free)
	p.put(gone)
	rest := len(p.free) - n
	if rest < 0 {
		err := &CapacityError{Where: where, Need: n, Free: len(p.free)}
		p.free = p.free[:before]
		for _, x := range gone {
			p.refs[x]++
		}
		return dst, err
	}
	for i := len(p.free) - 1; i >= rest; i-- {
		p.refs[p.free[i]] = 1
		dst = append(dst, p.free[i])
	}
	p.free = p.free[:rest]
	return dst, nil
}

// share gives pages to one more sequence.
func (p *pagePool) share(pages []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range pages {
		p.refs[x]++
	}
}

// isShared reports whether several sequences share a page.
func (p *pagePool) isShared(page int32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refs[page] > 1
}

// release takes pages from one sequence, the last one first, so that they are taken
// again in their order.
func (p *pagePool) release(pages []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(pages)
}

// put is release for a caller that holds the lock.
func (p *pagePool) put(pages []int32) {
	for i := len(pages) - 1; i >= 0; i-- {
		x := pages[i]
		if p.refs[x]--; p.refs[x] == 0 {
			p.free = append(p.free, x)
		}
	}
}
