package shard

import (
	"sync"

	"github.com/attn-go/attn/kernel"
)

// partialsMemory is memory of partials that are no longer needed, for those of later calls.
type partialsMemory struct{ pool sync.Pool }

// take returns partials of one batch row. Unless they have no blocks, whoever takes them writes all of them: they hold
// what an earlier call has left.
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
