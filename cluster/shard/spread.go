package shard

import (
	"context"
	"slices"
	"time"

	"github.com/attn-go/attn/cluster/shard/internal/placement"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// spread sends rows to the workers that are to hold them.
type spread struct {
	client    *Client
	sequences []*Sequence
	parts     []*part
	encode    func(dst []byte, p *part, lo, hi int) []byte // appends rows lo to hi-1 of a part
	causes    []error
	searched  bool // for more workers, as nobody was left
}

// part is the rows of one block.
type part struct {
	sequence int // number in the call
	name     string
	epoch    uint64
	block    int
	offset   int // of the first row in the block
	row      int // of the first row in the call
	count    int
	fresh    bool // the block is new: any worker may hold it

	wanted  []string // workers to send it to in this round
	tried   []string // workers that it was sent to
	holders []string // workers that hold it now
}

// outcome is what became of a part on a worker.
type outcome struct {
	part   *part
	worker string
	err    error
}

// run sends all parts, in rounds: for new blocks, other workers take the place of those that
// fail.
func (a *spread) run(ctx context.Context) error {
	load := make([]map[string]int, len(a.sequences))
	for i, s := range a.sequences {
		s.mu.Lock()
		load[i] = map[string]int{}
		for w, n := range s.load {
			load[i][w] = n
		}
		s.mu.Unlock()
	}
	for {
		for _, p := range a.parts {
			if p.fresh {
				a.choose(ctx, p, load[p.sequence])
			}
		}
		if !slices.ContainsFunc(a.parts, func(p *part) bool { return len(p.wanted) > 0 }) {
			return a.lost()
		}
		a.round(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// searchAgain is how long a client with too few workers waits before it looks for more.
const searchAgain = 5 * time.Second

// choose sets the workers that a new block goes to next: as many as replicas are missing.
func (a *spread) choose(ctx context.Context, p *part, load map[string]int) {
	missing := a.client.config.Replicas - len(p.holders)
	if missing <= 0 {
		return
	}
	all, trusted := a.client.trusted()
	if len(trusted) < max(a.client.config.Replicas, len(all)) && a.client.mayRefresh() {
		a.client.lookForMore(ctx)
	}
	workers := a.untried(p)
	if len(workers) == 0 && len(p.holders) == 0 && !a.searched {
		a.searched = true
		a.client.lookForMore(ctx)
		workers = a.untried(p)
	}
	p.wanted = placement.Place(workers, load, p.name, p.block, missing)
	for _, w := range p.wanted {
		load[w]++
	}
}

// untried returns the workers to which a part has not been sent: suspects only if nobody else is
// left and nobody holds it.
func (a *spread) untried(p *part) []string {
	all, trusted := a.client.trusted()
	tried := func(w string) bool { return slices.Contains(p.tried, w) }
	workers := slices.DeleteFunc(trusted, tried)
	if len(workers) == 0 && len(p.holders) == 0 {
		workers = slices.DeleteFunc(all, tried)
	}
	return workers
}

// lost returns an error if there are parts that nobody holds.
func (a *spread) lost() error {
	var lost lostBlocks
	for _, p := range a.parts {
		if len(p.holders) == 0 {
			lost.add(p.name, p.block)
		}
	}
	return lost.err(a.causes)
}

// round sends the parts to the workers that are wanted. It ends when all have answered, or
// when every part is held by one and the others take longer than the client's patience.
func (a *spread) round(parent context.Context) {
	ctx, cancel := context.WithTimeout(parent, a.client.config.Timeout)
	defer cancel()
	queues := map[string][]*part{}
	pending := 0
	for _, p := range a.parts {
		for _, w := range p.wanted {
			queues[w] = append(queues[w], p)
			pending++
		}
		p.tried = append(p.tried, p.wanted...)
		a.sequences[p.sequence].touch(p.wanted)
	}
	outcomes := make(chan outcome, pending)
	for w, parts := range queues {
		go a.send(ctx, w, parts, outcomes)
	}
	patience := time.NewTimer(a.client.config.Patience)
	defer patience.Stop()
	for ; pending > 0; pending-- {
		select {
		case o := <-outcomes:
			a.addOutcome(parent, o)
			patience.Reset(a.client.config.Patience)
		case <-patience.C:
			if !slices.ContainsFunc(a.parts, func(p *part) bool { return len(p.holders) == 0 }) {
				cancel() // the rest of the outcomes come at once
			}
			pending++
		}
	}
	for _, p := range a.parts {
		p.wanted = nil
	}
}

// addOutcome notes an outcome. A worker that did not answer is not suspected if ctx had ended.
func (a *spread) addOutcome(ctx context.Context, o outcome) {
	if o.err == nil {
		o.part.holders = append(o.part.holders, o.worker)
		a.client.trust(o.worker)
		return
	}
	if silent(o.err) && ctx.Err() == nil {
		a.client.suspects(o.worker)
	}
	a.causes = append(a.causes, o.err)
}

// send sends parts to a worker, one message after the other.
func (a *spread) send(ctx context.Context, worker string, parts []*part, outcomes chan<- outcome) {
	m := &putter{spread: a, worker: worker, failed: map[*part]error{}}
	for _, p := range parts {
		for lo := 0; lo < p.count; {
			n := min(m.room(), p.count-lo)
			if n < 1 && len(m.items) > 0 {
				m.flush(ctx)
				continue
			}
			n = max(n, 1) // a server with a lower limit than at first refuses the message
			m.add(p, lo, lo+n)
			lo += n
		}
	}
	m.flush(ctx)
	for _, p := range parts {
		outcomes <- outcome{p, worker, m.failed[p]}
	}
}

// putter packs rows into messages to a worker.
type putter struct {
	*spread
	worker string
	size   int // bytes of items
	items  []wire.Keys
	parts  []*part // of the items
	failed map[*part]error
	gone   error // after it, nothing is sent
}

// room returns how many rows the message has room for.
func (m *putter) room() int {
	limit := answerLimit(m.client.conn) - wire.PutOverhead - m.size - wire.KeysOverhead
	return limit / m.client.geometry.RowBytes()
}

func (m *putter) add(p *part, lo, hi int) {
	rows := (hi - lo) * m.client.geometry.RowBytes()
	m.size += wire.KeysOverhead + rows
	m.items = append(m.items, wire.Keys{
		Sequence: p.name, Block: p.block, Epoch: p.epoch, Offset: p.offset + lo, Count: hi - lo,
		Rows: m.encode(make([]byte, 0, rows), p, lo, hi),
	})
	m.parts = append(m.parts, p)
}

// flush sends the message.
func (m *putter) flush(ctx context.Context) {
	if len(m.items) == 0 {
		return
	}
	statuses, err := m.put(ctx)
	for i, p := range m.parts {
		if err != nil {
			m.failed[p] = err
		} else if err := statusError(m.worker, statuses[i]); err != nil {
			m.failed[p] = err
		}
	}
	m.size, m.items, m.parts = 0, m.items[:0], m.parts[:0]
}

func (m *putter) put(ctx context.Context) ([]wire.Status, error) {
	if m.gone != nil {
		return nil, m.gone
	}
	message := wire.Put{Geometry: m.client.geometry, Items: m.items}
	statuses, err := m.client.put(ctx, m.worker, &message)
	if silent(err) {
		m.gone = err
	}
	return statuses, err
}
