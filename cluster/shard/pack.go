package shard

import "github.com/attn-go/attn/cluster/shard/internal/wire"

// packer packs pieces for a worker into messages.
type packer struct {
	*gatherer
	worker   string
	attempts []*attempt
	last     *unit // of the last item
	size     int   // bytes of the last message
	answer   int   // bytes of its answer
}

// pack returns messages for pieces, which are in the order of units and blocks. Each message
// and each answer is within the server's limit.
func (g *gatherer) pack(worker string, pieces []*piece) []*attempt {
	p := &packer{gatherer: g, worker: worker}
	for _, x := range pieces {
		p.add(x)
	}
	return p.attempts
}

// add adds a piece to the last message, or to a new one if there is no room.
func (p *packer) add(x *piece) {
	partial := wire.PartialBytes(&p.client.geometry, p.heads(), x.unit.hi-x.unit.lo)
	limit := answerLimit(p.client.conn)
	need := wire.RangeBytes
	if x.unit != p.last {
		need += wire.QueriesOverhead + (x.unit.hi-x.unit.lo)*p.queryBytes()
	}
	if len(p.attempts) == 0 || p.size+need > limit || p.answer+partial > limit {
		p.begin()
		need = wire.QueriesOverhead + (x.unit.hi-x.unit.lo)*p.queryBytes() + wire.RangeBytes
	}
	a := p.attempts[len(p.attempts)-1]
	if x.unit != p.last {
		a.message.Items = append(a.message.Items, p.queries(x.unit))
		p.last = x.unit
	}
	a.pieces = append(a.pieces, x)
	p.size += need
	p.answer += partial
	a.answer = p.answer
	item := &a.message.Items[len(a.message.Items)-1]
	if n := len(item.Ranges); n > 0 && item.Ranges[n-1].First+item.Ranges[n-1].Count == x.block {
		item.Ranges[n-1].Count++
	} else {
		item.Ranges = append(item.Ranges, wire.Range{First: x.block, Count: 1})
	}
}

// begin begins a message.
func (p *packer) begin() {
	p.attempts = append(p.attempts, &attempt{worker: p.worker, message: p.attend()})
	p.last, p.size, p.answer = nil, wire.AttendOverhead+wire.ScoringBytes(&p.options.Scoring), wire.AnswerOverhead
}

// attend returns a message of the call, without items.
func (a *call) attend() *wire.Attend {
	return &wire.Attend{Geometry: a.client.geometry, Call: wire.Call{Type: a.q.DType(), Heads: a.heads(), Scoring: wire.NewScoring(&a.options.Scoring)}}
}

// queries returns the item of a unit, without ranges.
func (a *call) queries(u *unit) wire.Queries {
	return wire.Queries{
		Sequence: u.name, Epoch: u.epoch, Keys: u.keys, Start: u.start, Count: u.hi - u.lo,
		Rows: wire.AppendRows(nil, a.q, u.row, u.lo, u.hi),
	}
}
