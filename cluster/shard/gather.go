package shard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// piece is a block of a unit that a worker is to be asked for.
type piece struct {
	unit  *unit
	block int
	tried []string // workers that were asked
	done  bool
}

// attempt is a message to a worker.
type attempt struct {
	worker  string
	pieces  []*piece // in the order of the message's blocks
	message *wire.Attend
	answer  int       // most bytes of the answer
	due     time.Time // when the client's patience is over; zero before the message is sent
	late    bool      // it is over
	free    func()    // makes room for other messages, once it was sent
}

// event is that an attempt was sent, or its outcome.
type event struct {
	*attempt
	sent bool
	data []byte
	err  error
}

// gatherer asks workers for all pieces of some units.
type gatherer struct {
	*call
	pieces   []*piece
	left     int // pieces that are not done
	open     map[*attempt]bool
	events   chan event
	causes   []error
	computed map[string]time.Duration // by worker
}

// gather computes the partials of units. As all workers give the same bits, the first answer
// for a block is the one that counts.
func (a *call) gather(parent context.Context, units []*unit) error {
	ctx, cancel := context.WithTimeout(parent, a.client.config.Timeout)
	defer cancel()
	g := &gatherer{call: a, open: map[*attempt]bool{}, events: make(chan event), computed: map[string]time.Duration{}}
	for _, u := range units {
		partials, err := a.client.memory.take(len(u.owners), a.heads(), u.hi-u.lo, a.client.geometry.ValueSize)
		if err != nil {
			return fmt.Errorf("shard: %w", err)
		}
		u.partials = partials
		for block := u.first; block < u.end(); block++ {
			g.pieces = append(g.pieces, &piece{unit: u, block: block})
		}
	}
	g.left = len(g.pieces)
	a.stats.Blocks += g.left
	defer g.finish()
	if err := g.run(ctx); err != nil {
		return cmp.Or(parent.Err(), err)
	}
	return nil
}

// finish adds what the workers took to the call's numbers.
func (g *gatherer) finish() {
	slowest := time.Duration(0)
	for _, took := range g.computed {
		g.stats.Compute += took
		slowest = max(slowest, took)
	}
	g.stats.Slowest += slowest
}

// run asks until all pieces are done, or until nobody is left to ask.
func (g *gatherer) run(ctx context.Context) error {
	g.ask(ctx, g.pieces)
	for g.left > 0 {
		if len(g.open) == 0 {
			return g.lost()
		}
		timer := time.NewTimer(g.patience())
		select {
		case x := <-g.events:
			if x.sent {
				x.due = time.Now().Add(g.client.config.Patience)
				break
			}
			delete(g.open, x.attempt)
			g.take(ctx, x)
			g.ask(ctx, x.pieces)
		case <-timer.C:
			g.askOthers(ctx)
		case <-ctx.Done():
			for x := range g.open {
				g.causes = append(g.causes, &WorkerError{x.worker, CodeSilent, "it took too long", ctx.Err()})
			}
			return g.lost()
		}
		timer.Stop()
	}
	return nil
}

// patience returns how long to wait before others are asked.
func (g *gatherer) patience() time.Duration {
	wait := time.Hour
	for x := range g.open {
		if !x.late && !x.due.IsZero() {
			wait = min(wait, time.Until(x.due))
		}
	}
	return max(wait, 0)
}

// askOthers asks for what late workers were asked for.
func (g *gatherer) askOthers(ctx context.Context) {
	now := time.Now()
	for x := range g.open {
		if !x.late && !x.due.IsZero() && !x.due.After(now) {
			x.late = true
			x.free() // its answer may never come
			g.client.suspects(x.worker)
			g.ask(ctx, x.pieces)
		}
	}
}

// lost returns the error about the pieces that are not done.
func (g *gatherer) lost() error {
	var lost lostBlocks
	for _, p := range g.pieces {
		if !p.done {
			lost.add(p.unit.name, p.block)
		}
	}
	return lost.err(g.causes)
}

// ask sends messages for those pieces that are not done, each to the worker with the least to
// do of those that hold it and were not asked yet.
func (g *gatherer) ask(ctx context.Context, pieces []*piece) {
	_, trusted := g.client.trusted()
	load := map[string]int64{}
	queues := map[string][]*piece{}
	var workers []string
	for _, p := range pieces {
		w := p.next(trusted, load)
		if w == "" {
			continue
		}
		load[w] += int64(p.unit.hi - p.unit.lo)
		if queues[w] == nil {
			workers = append(workers, w)
		}
		queues[w] = append(queues[w], p)
		p.tried = append(p.tried, w)
	}
	for _, w := range workers {
		for _, x := range g.pack(w, queues[w]) {
			g.send(ctx, x)
		}
	}
}

// next returns the worker to ask next for a piece, or "".
func (p *piece) next(trusted []string, load map[string]int64) string {
	if p.done {
		return ""
	}
	best, bestLoad := "", int64(0)
	for _, w := range p.unit.owners[p.block-p.unit.first] {
		if slices.Contains(p.tried, w) {
			continue
		}
		l := load[w]
		if !slices.Contains(trusted, w) {
			l += 1 << 40
		}
		if best == "" || l < bestLoad {
			best, bestLoad = w, l
		}
	}
	return best
}

// send sends a message when there is room for it and its answer. What becomes of it comes to
// g.events, unless the call has ended.
func (g *gatherer) send(ctx context.Context, x *attempt) {
	data := wire.Encode(x.message)
	g.open[x] = true
	g.stats.Requests++
	if len(x.pieces[0].tried) > 1 {
		g.stats.Retries++
	}
	g.stats.Sent += int64(len(data))
	report := func(e event) {
		select {
		case g.events <- e:
		case <-ctx.Done():
		}
	}
	size := min(int64(len(data)+x.answer), g.client.underWay)
	x.free = sync.OnceFunc(func() { g.client.room.Release(size) })
	go func() {
		if g.client.room.Acquire(ctx, size) != nil {
			return // the call has ended
		}
		defer x.free()
		report(event{attempt: x, sent: true})
		reply, err := g.client.request(ctx, x.worker, "attend", data)
		report(event{attempt: x, data: reply, err: err})
	}()
}

// take uses an answer. After the end of ctx, silence is nobody's fault.
func (g *gatherer) take(ctx context.Context, x event) {
	if x.err != nil {
		if silent(x.err) && ctx.Err() == nil {
			g.client.suspects(x.worker)
		}
		g.causes = append(g.causes, x.err)
		return
	}
	g.stats.Received += int64(len(x.data))
	missing := false
	took, err := wire.DecodeAnswer(x.data, x.message, func(n int, partial []byte) {
		switch p := x.pieces[n]; {
		case partial == nil:
			missing = true
		case !p.done:
			p.store(partial)
			g.left--
		}
	})
	switch {
	case err != nil:
		g.causes = append(g.causes, malformed(x.worker, err))
		return
	case missing:
		g.causes = append(g.causes, &WorkerError{x.worker, CodeMissing, "it does not hold some of the blocks", nil})
	}
	g.computed[x.worker] += took
	g.client.trust(x.worker)
	g.extend(x.worker)
}

// extend gives a worker that has answered more time for its other messages, which it had to
// put off.
func (g *gatherer) extend(worker string) {
	for x := range g.open {
		if x.worker == worker && !x.due.IsZero() {
			x.due = time.Now().Add(g.client.config.Patience)
		}
	}
}

// store writes an answer for a piece to its place in the partials of the unit.
func (p *piece) store(partial []byte) {
	t := p.unit.partials
	rows := t.Heads * t.Queries
	at := (p.block - p.unit.first) * rows
	partial = wire.Floats(t.Max[at:at+rows], partial)
	partial = wire.Floats(t.Sum[at:at+rows], partial)
	wire.Floats(t.Out[at*t.HeadSize:(at+rows)*t.HeadSize], partial)
	p.done = true
}
