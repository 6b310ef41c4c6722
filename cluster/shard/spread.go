package shard

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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
	open    []string // of these, the ones that have not answered and were no suspects
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
		load[i] = maps.Clone(s.load)
		s.mu.Unlock()
	}
	for {
		for _, p := range a.parts {
			if p.fresh {
				a.choose(ctx, p, load[p.sequence])
			}
		}
		if !slices.ContainsFunc(a.parts, func(p *part) bool { return len(p.wanted) > 0 }) {
			a.copyTails(ctx)
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
	missing := a.missing(p)
	if missing <= 0 {
		return
	}
	a.client.lookIfFew(ctx)
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

// missing returns how many copies a part lacks.
func (a *spread) missing(p *part) int { return a.client.config.Replicas - len(p.holders) }

// lookIfFew looks for more workers if some do not answer, or are too few, but not all the time.
func (c *Client) lookIfFew(ctx context.Context) {
	all, trusted := c.trusted()
	if len(trusted) < max(c.config.Replicas, len(all)) && c.mayRefresh() {
		c.lookForMore(ctx)
	}
}

// copyTails gives blocks that go on, and that too few of their holders have taken the new rows of,
// other holders: these get the whole block from one that has it. Where no worker takes it, the
// block has fewer copies, until keepers find one.
func (a *spread) copyTails(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, p := range a.parts {
		if p.fresh || len(p.holders) == 0 || a.missing(p) <= 0 {
			continue
		}
		a.client.lookIfFew(ctx)
		group.Go(func() error {
			a.copyTail(ctx, p)
			return nil
		})
	}
	group.Wait()
}

// copyTail does that for one block. Who does not take it is asked again after a while: appends
// would wait for it each time.
func (a *spread) copyTail(ctx context.Context, p *part) {
	_, trusted := a.client.trusted()
	s := a.sequences[p.sequence]
	s.mu.Lock()
	r := &repair{client: a.client, live: slices.Concat(p.holders, s.declined.without(p.block, a.untriedOf(trusted, p))), load: maps.Clone(s.load)}
	s.mu.Unlock()
	b := &blockRepair{repair: r, name: p.name, block: p.block, epoch: p.epoch, rows: p.offset + p.count, before: p.holders, after: p.holders}
	b.fill(ctx)
	p.holders = b.after
	s.touch(b.added)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declined.add(p.block, b.declined, time.Now().Add(a.client.quarantine))
}

// declined are the workers that did not take a copy of the block that goes on, and until when they
// are not asked again.
type declined struct {
	block int
	until map[string]time.Time
}

func (d *declined) add(block int, workers []string, until time.Time) {
	if d.block != block || d.until == nil {
		d.block, d.until = block, map[string]time.Time{}
	}
	for _, w := range workers {
		d.until[w] = until
	}
}

// without returns the workers, of some, that can be asked now.
func (d *declined) without(block int, workers []string) []string {
	now := time.Now()
	return slices.DeleteFunc(workers, func(w string) bool { return d.block == block && now.Before(d.until[w]) })
}

// untriedOf returns the workers, of some, to which a part has not been sent.
func (a *spread) untriedOf(workers []string, p *part) []string {
	return slices.DeleteFunc(slices.Clone(workers), func(w string) bool { return slices.Contains(p.tried, w) })
}

// untried returns the workers to which a part has not been sent: suspects only if nobody else is
// left and nobody holds it.
func (a *spread) untried(p *part) []string {
	all, trusted := a.client.trusted()
	workers := a.untriedOf(trusted, p)
	if len(workers) == 0 && len(p.holders) == 0 {
		workers = a.untriedOf(all, p)
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
// when those that have not take longer than the client's patience and others can take their place.
func (a *spread) round(parent context.Context) {
	ctx, cancel := context.WithTimeout(parent, a.client.config.Timeout)
	defer cancel()
	queues := map[string][]*part{}
	_, trusted := a.client.trusted()
	pending := 0
	for _, p := range a.parts {
		for _, w := range p.wanted {
			queues[w] = append(queues[w], p)
			pending++
		}
		p.tried = append(p.tried, p.wanted...)
		p.open = slices.DeleteFunc(slices.Clone(p.wanted), func(w string) bool { return !slices.Contains(trusted, w) })
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
			if !slices.ContainsFunc(a.parts, a.waits) {
				cancel() // the rest of the outcomes come at once
			}
			pending++
		}
	}
	for _, p := range a.parts {
		p.wanted = nil
	}
}

// waits tells whether a part has to wait for workers that are late: nobody holds it, or too few do,
// and nobody else can take it. A worker for which a call has waited lately in vain is not waited
// for.
func (a *spread) waits(p *part) bool {
	if len(p.holders) == 0 {
		return true
	}
	return a.missing(p) > 0 && len(p.open) > 0 && len(a.untried(p)) == 0
}

// addOutcome notes an outcome. A worker that did not answer is not suspected if ctx had ended.
func (a *spread) addOutcome(ctx context.Context, o outcome) {
	o.part.open = slices.DeleteFunc(o.part.open, func(w string) bool { return w == o.worker })
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
