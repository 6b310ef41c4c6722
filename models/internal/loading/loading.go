// Package loading says how far a model is read, and keeps what is read in passing from filling the
// memory.
package loading

import (
	"runtime"
	"runtime/debug"
)

// A Meter counts the bytes of tensors that are read. The nil Meter does nothing.
type Meter struct {
	total, done, fresh int64
	report             func(done, total int64)
}

// New returns a Meter of tensors of so many bytes, which tells report, if it is not nil, how many
// are read. What came before them, such as the text of a tokenizer, is garbage by then. The system
// gets that memory back: it lies in gaps between what stays, into which no tensor fits.
func New(total int64, report func(done, total int64)) *Meter {
	debug.FreeOSMemory()
	m := &Meter{total: total, report: report}
	m.tell()
	return m
}

func (m *Meter) tell() {
	if m.report != nil {
		m.report(m.done, m.total)
	}
}

// Skip counts bytes that nothing was read for.
func (m *Meter) Skip(bytes int64) {
	if m != nil {
		m.done = min(m.done+bytes, m.total)
		m.tell()
	}
}

// Add counts bytes. Each tensor leaves copies of itself that are garbage once it is packed, which
// the collector would let grow to the size of the model: it is run after each 128th of all, but not
// for less than 4 MiB. The weights have no pointers, so that this takes far less time than to read
// them.
func (m *Meter) Add(bytes int64) {
	if m == nil {
		return
	}
	m.Skip(bytes)
	if m.fresh += bytes; m.fresh > max(4<<20, m.total/128) {
		m.fresh = 0
		runtime.GC()
	}
}

// End tells that all is read: tensors that no result depends on are left out. What was needed to
// read them goes back to the system.
func (m *Meter) End() {
	if m == nil {
		return
	}
	debug.FreeOSMemory()
	if m.done < m.total {
		m.done = m.total
		m.tell()
	}
}
