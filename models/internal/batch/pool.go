package batch

import (
	"context"
)

// PoolOptions are the settings of a [Pool].
type PoolOptions[In, Out any] struct {
	Work func(ctx context.Context, items []In) ([]Out, error) // the result of each item
	Cost func(In) int
	Most int // the cost of a batch; an item that costs more is one alone

	Waiting int // most calls that wait
	PerKey  int // most calls of one key that wait
	Turn    *Turn
}

// A Pool puts items of several calls into batches. Keys share it fairly, and calls of a key take
// turns, so that a short one does not wait for all of a long one. Do and Stats are for any number
// of goroutines.
type Pool[In, Out any] struct {
	o PoolOptions[In, Out]

	entrance[*job[In, Out]]
	stats PoolStats
}

// PoolStats are numbers of what a Pool does.
type PoolStats struct {
	Waiting               int
	Batches, Items, Costs uint64
	Panics                uint64
}

// A job is a call of Do.
type job[In, Out any] struct {
	ctx   context.Context
	items []In
	taken int // items that were in a batch
	outs  []Out
	left  int // items without a result
	err   error
	done  chan struct{}
}

// NewPool returns a pool, which does nothing before Run.
func NewPool[In, Out any](o PoolOptions[In, Out]) *Pool[In, Out] {
	return &Pool[In, Out]{o: o, entrance: entrance[*job[In, Out]]{wake: make(chan struct{}, 1)}}
}

// Do returns the results of items. If ctx ends, it returns its error.
func (p *Pool[In, Out]) Do(ctx context.Context, key string, items []In) ([]Out, error) {
	if len(items) == 0 {
		return nil, nil
	}
	j := &job[In, Out]{ctx: ctx, items: items, outs: make([]Out, len(items)), left: len(items), done: make(chan struct{})}
	if err := p.submit(key, j, p.o.Waiting, p.o.PerKey); err != nil {
		return nil, err
	}
	select {
	case <-j.done:
		return j.outs, j.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Stats returns the numbers of the moment.
func (p *Pool[In, Out]) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Waiting = p.waiting.count
	return stats
}

// Run computes batches until ctx ends. What waits then ends with ErrClosed, as does what comes
// later.
func (p *Pool[In, Out]) Run(ctx context.Context) {
	p.run(ctx, p.o.Turn, p.step)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting.remove(func(j *job[In, Out]) bool {
		j.fail(ErrClosed)
		return true
	})
}

// A part is an item of a batch.
type part[In, Out any] struct {
	job   *job[In, Out]
	index int
}

// step computes a batch, and tells whether there was one.
func (p *Pool[In, Out]) step(ctx context.Context) bool {
	parts, items := p.take()
	if len(parts) == 0 {
		return false
	}
	var outs []Out
	var err error
	p.o.Turn.Do(func() bool {
		outs, err = p.work(ctx, items)
		return p.Stats().Waiting > 0
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, part := range parts {
		if j := part.job; err != nil {
			j.fail(err)
		} else if j.err == nil {
			j.outs[part.index] = outs[i]
			if j.left--; j.left == 0 {
				close(j.done)
			}
		}
	}
	return true
}

// work is Work, with an error in place of a panic.
func (p *Pool[In, Out]) work(ctx context.Context, items []In) (outs []Out, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = panicked(x)
			p.mu.Lock()
			p.stats.Panics++
			p.mu.Unlock()
		}
	}()
	return p.o.Work(ctx, items)
}

// take chooses the items of the next batch.
func (p *Pool[In, Out]) take() (parts []part[In, Out], items []In) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting.remove(func(j *job[In, Out]) bool { return j.ctx.Err() != nil || j.err != nil })
	left := p.o.Most
	for {
		cost := 0
		j, line, ok := p.waiting.take(func(j *job[In, Out]) bool {
			cost = p.o.Cost(j.items[j.taken])
			return cost <= left || len(parts) == 0
		})
		if !ok {
			return parts, items
		}
		parts, items = append(parts, part[In, Out]{j, j.taken}), append(items, j.items[j.taken])
		left -= cost
		line.work += cost
		p.stats.Costs += uint64(cost)
		p.stats.Items++
		if len(parts) == 1 {
			p.stats.Batches++
		}
		if j.taken++; j.taken < len(j.items) {
			line.items = append(line.items, j)
			p.waiting.count++
		}
		line.users--
	}
}

// fail ends a job with an error.
func (j *job[In, Out]) fail(err error) {
	if j.err == nil && j.left > 0 {
		j.err = err
		close(j.done)
	}
}
