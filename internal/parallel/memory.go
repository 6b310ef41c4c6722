package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Memory counts the bytes that a recycled value holds, and how many of them calls have needed
// lately. Its methods, and the FreeList's, are for whoever has taken the value from the list.
type Memory struct {
	held  int    // bytes
	used  int    // bytes that have been needed since
	puts  int    // calls since then
	since uint32 // garbage collection from which on used and puts count
	epoch uint32 // raised when they begin again at 0
}

// Usage tells how much of a slice calls have needed lately. Each slice of a recycled value
// has one.
type Usage struct {
	n     int // elements, the most since epoch began
	epoch uint32
}

// Fit makes *s have at least n elements for the current call. make makes a slice: what the
// old one holds is lost.
func Fit[E any](m *Memory, u *Usage, s *[]E, n int, make func(n int) []E) {
	if n > u.n || u.epoch != m.epoch {
		fit(m, u, s, n, make)
	}
}

func fit[E any](m *Memory, u *Usage, s *[]E, n int, make func(n int) []E) {
	size := int(unsafe.Sizeof(*new(E)))
	if u.epoch != m.epoch {
		u.n, u.epoch = 0, m.epoch
	}
	if n <= u.n {
		return
	}
	if more := n - len(*s); more > 0 {
		*s = make(n)
		m.hold(more * size)
	}
	m.used += (n - u.n) * size
	u.n = n
}

// Make is make for Fit.
func Make[E any](n int) []E { return make([]E, n) }

func (m *Memory) hold(bytes int) {
	m.held += bytes
	totalHeld.Add(int64(bytes))
}

const (
	// Memory that no call has needed for keepFor garbage collections is freed, after
	// 2·keepFor+1 collections at the latest.
	keepFor = 3

	// mostHeld bounds the bytes of all recycled values. Beyond it, values are freed after
	// the call that has used them.
	mostHeld = 256 << 20
)

var (
	totalHeld   atomic.Int64  // bytes of all recycled values, in use or free
	collections atomic.Uint32 // garbage collections while a list held a value, and calls of Release
)

// review reports whether the value should be freed: all of them hold too much, or for
// keepFor garbage collections no call has used it, or calls have needed less than half of
// what it holds. Now and then it begins to count anew.
func (m *Memory) review() bool {
	if m.held > 0 && totalHeld.Load() > mostHeld {
		return true
	}
	now := collections.Load()
	if now-m.since < keepFor {
		return false
	}
	outdated := m.puts == 0 || m.used < m.held/2
	m.used, m.puts, m.since = 0, 0, now
	m.epoch++
	return outdated
}

// Epoch changes when all slices have to be fitted again, even if they are large enough.
func (m *Memory) Epoch() uint32 { return m.epoch }

// Forget is for a value that is not recycled. It may be called again.
func (m *Memory) Forget() {
	totalHeld.Add(-int64(m.held))
	m.held, m.used = 0, 0
}

// lists holds the free lists that have held a value.
var lists struct {
	mu  sync.Mutex
	all []interface {
		// free frees what is outdated, or everything, and reports whether anything is left.
		free(all bool) (left bool)
	}
}

// Release frees all recycled values that are not in use. Any call may run meanwhile.
func Release() {
	collections.Add(1) // so that calls reserve memory anew
	freeLists(true)
}

func freeLists(all bool) (left bool) {
	lists.mu.Lock()
	each := lists.all
	lists.mu.Unlock()
	for _, l := range each {
		left = l.free(all) || left
	}
	return left
}

// A collector is garbage. The runtime calls its finalizer after each garbage collection, as the
// finalizer sets itself again. With a pointer in it, it is not allocated together with others.
type collector struct{ _ *collector }

// collecting says that there is a collector.
var collecting atomic.Bool

// startCollector makes a collector unless there is one. It is called when a list has got
// a value; when all lists are empty the collector ends.
func startCollector() {
	if !collecting.Load() && collecting.CompareAndSwap(false, true) {
		runtime.SetFinalizer(new(collector), collect)
	}
}

func collect(c *collector) {
	collections.Add(1)
	collecting.Store(false) // first: a list may get a value from here on
	if freeLists(false) && collecting.CompareAndSwap(false, true) {
		runtime.SetFinalizer(c, collect)
	}
}
