package shard

import (
	"fmt"
	"sync"
	"time"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// unit is some queries of a batch row, with the blocks that they may see.
type unit struct {
	row      int // of the batch
	name     string
	epoch    uint64
	lo, hi   int // queries lo to hi-1 of the row
	start    int // position of query lo
	keys     int // of the sequence
	first    int // block
	owners   [][]string
	partials *kernel.Partials
}

// end returns the number after the last block's.
func (u *unit) end() int { return u.first + len(u.owners) }

// units cuts the call into units whose answers fit messages and memory.
func (a *call) units() ([]*unit, error) {
	g := &a.client.geometry
	heads := a.heads()
	limit := answerLimit(a.client.conn)
	one := wire.PartialBytes(g, heads, 1)
	most := min((limit-wire.AnswerOverhead-1)/max(one-1, 1), (limit-a.messageBytes())/a.queryBytes())
	if most < 1 {
		return nil, &kernel.Error{Where: "q", Got: fmt.Sprintf("%d heads, for which one query takes %d bytes and the answer for a block %d", heads, a.queryBytes(), one),
			Want: fmt.Sprintf("%d bytes or fewer each, so that a message of the server holds them", limit)}
	}
	var units []*unit
	for b, s := range a.sequences {
		s.mu.Lock()
		units = append(units, a.unitsOf(b, s, most, one)...)
		s.mu.Unlock()
	}
	return units, nil
}

// unitsOf returns the units of a batch row, of at most so many queries; a query takes so many bytes
// of partials for a block.
func (a *call) unitsOf(b int, s *Sequence, most, one int) []*unit {
	var units []*unit
	n := a.q.Length(b)
	start := s.length - n
	switch len(a.options.QueryStart) {
	case 0:
	case 1:
		start = a.options.QueryStart[0]
	default:
		start = a.options.QueryStart[b]
	}
	for lo := 0; lo < n; {
		u := &unit{row: b, name: s.name, epoch: s.readEpoch(), lo: lo, start: start + lo, keys: s.length}
		u.hi = min(n, lo+a.atOnce(most, one, len(s.blocks)))
		u.see(&a.options.Mask, s.blocks)
		units = append(units, u)
		lo = u.hi
	}
	return units
}

// atOnce returns how many queries may be a unit: most at most, with all blocks in the memory
// of the client's limit.
func (a *call) atOnce(most, one, blocks int) int {
	return max(1, min(most, int(a.client.config.Memory/(int64(one)*int64(max(blocks, 1))))))
}

// see sets the blocks that the queries of a unit may see.
func (u *unit) see(m *kernel.Mask, blocks []placed) {
	lo, hi := visible(m, u.start, u.start+u.hi-u.lo-1, u.keys)
	if lo >= hi {
		return
	}
	u.first = lo / wire.BlockKeys
	for _, b := range blocks[u.first : (hi-1)/wire.BlockKeys+1] {
		u.owners = append(u.owners, b.workers)
	}
}

// queryBytes returns the bytes of a query in a message.
func (a *call) queryBytes() int {
	return a.heads() * a.q.Shape()[3] * wire.Size(a.q.DType())
}

// messageBytes returns the most bytes of a message with one item of one range, its queries
// aside.
func (a *call) messageBytes() int {
	return wire.AttendOverhead + wire.ScoringBytes(&a.options.Scoring) + wire.QueriesOverhead + wire.RangeBytes
}

// bytes returns the memory of the unit's partials.
func (u *unit) bytes(a *call) int64 {
	return int64(wire.PartialBytes(&a.client.geometry, a.heads(), u.hi-u.lo)) * int64(len(u.owners))
}

// wave returns how many units are computed together: as many as the client's memory allows,
// and one at least.
func (a *call) wave(units []*unit) int {
	total := int64(0)
	for n, u := range units {
		if total += u.bytes(a); n > 0 && total > a.client.config.Memory {
			return n
		}
	}
	return len(units)
}

// merged is the result of a unit, before it goes to the caller's memory.
type merged struct {
	*unit
	out wire.Buffer
	lse []float32
}

// merge merges the partials of units, in the order of their blocks.
func (a *call) merge(units []*unit) error {
	started := time.Now()
	heads, d := a.heads(), a.client.geometry.ValueSize
	for _, u := range units {
		n := u.hi - u.lo
		m := merged{unit: u, out: wire.NewBuffer(a.out.DType(), heads*n*d)}
		options := kernel.MergeOptions{Exec: a.options.Exec, Sinks: a.options.Sinks}
		if !a.options.LSE.IsZero() {
			m.lse = make([]float32, heads*n)
			options.LSE = kernel.BHLD(m.lse, 1, heads, n, 1)
		}
		if err := kernel.MergePartials(m.out.Tensor(heads, n, n, d), []kernel.Partials{*u.partials}, options); err != nil {
			return fmt.Errorf("shard: %w", err)
		}
		a.client.memory.put(u.partials)
		u.partials = nil
		a.merged = append(a.merged, m)
	}
	a.stats.Merge += time.Since(started)
	return nil
}

// copyOut copies the results to the caller's memory.
func (a *call) copyOut() {
	d := a.out.Shape()[3]
	for _, m := range a.merged {
		n := m.hi - m.lo
		for h := range a.heads() {
			for i := range n {
				m.out.CopyRow(a.out, m.row, h, m.lo+i, (h*n+i)*d)
				if m.lse != nil {
					kernel.Row[float32](a.options.LSE, m.row, h, m.lo+i)[0] = m.lse[h*n+i]
				}
			}
		}
	}
}

// partialsMemory is memory of partials that are no longer needed, for later calls.
type partialsMemory struct{ pool sync.Pool }

// take returns partials of one batch row. Unless they have no blocks, whoever takes them writes all
// of them: they hold what an earlier call has left.
func (m *partialsMemory) take(blocks, heads, queries, d int) (*kernel.Partials, error) {
	if blocks == 0 {
		return kernel.NewPartials(1, 1, heads, queries, d)
	}
	p, _ := m.pool.Get().(*kernel.Partials)
	rows := blocks * heads * queries
	if p == nil || cap(p.Max) < rows || cap(p.Sum) < rows || cap(p.Out) < rows*d {
		return kernel.NewPartials(blocks, 1, heads, queries, d)
	}
	return &kernel.Partials{Blocks: blocks, Batch: 1, Heads: heads, Queries: queries, HeadSize: d,
		Max: p.Max[:rows], Sum: p.Sum[:rows], Out: p.Out[:rows*d]}, nil
}

// put gives partials back.
func (m *partialsMemory) put(p *kernel.Partials) { m.pool.Put(p) }
