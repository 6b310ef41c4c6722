package embed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/attn-go/attn/cluster/embed/internal/journal"
	"github.com/attn-go/attn/cluster/hub"
)

// A batch is consecutive records of the input, of which the usable ones make a job.
type batch struct {
	entries []journal.Entry // without vectors
	texts   []string        // of the entries without a Reason
	bytes   int64           // that the records took of the input
}

// A job is a batch whose vectors are awaited.
type job struct {
	batch
	done chan struct{} // closed when all entries have a vector or a Reason
}

// tries is how many workers may be lost with a job before its texts are sent alone, and with a text
// before it is rejected.
const tries = 5

// perWorker is how many jobs of a run a worker has at a time: one that it computes, and one that it
// does next.
const perWorker = 2

// tick is how often the journal reaches the disk and the progress is shown.
const tick = 100 * time.Millisecond

// A pump is the traffic of a run. A goroutine reads the input, one asks for each job, and one
// writes the journal, in order.
type pump struct {
	*run
	order chan *job // under way, in the order of the input, closed at its end

	// Jobs share it, and a text that is sent alone has it for itself: if workers die of it, that is
	// no other text's fault.
	alone sync.RWMutex

	room *room

	mu    sync.Mutex
	last  time.Time // of the last result
	cause error     // of the last try that failed, nil after a result
	split int
	jobs  int      // under way
	said  []string // for a person, and not said yet
}

// pump sends all jobs and returns when the journal has all results.
func (r *run) pump(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &pump{run: r, order: make(chan *job, r.options.Window), last: time.Now(), room: newRoom()}
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel(nil)
	batches := make(chan batch)
	go func() { // nobody waits for it, as reading standard input may take forever
		if err := r.in.send(ctx, batches); err != nil {
			cancel(err)
		}
	}()
	asking.Go(func() {
		for {
			select {
			case b, more := <-batches:
				if !more {
					close(p.order)
					return
				}
				j := &job{b, make(chan struct{})}
				p.begin()
				select {
				case p.order <- j:
					asking.Go(func() { p.do(ctx, j) })
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	err := p.collect(ctx)
	r.summary.Split = p.split
	return errors.Join(err, r.journal.Sync()) // what is done is not lost
}

// begin counts a job. Before the first one nothing is late: slow input is no fault.
func (p *pump) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jobs++; p.jobs == 1 {
		p.last = time.Now()
	}
}

// collect writes what is done to the journal, in order.
func (p *pump) collect(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	order, done := p.order, (<-chan struct{})(nil)
	var next *job
	for {
		select {
		case j, more := <-order:
			if !more {
				return nil
			}
			next, order, done = j, nil, j.done
		case <-done:
			for _, e := range next.entries {
				if err := p.journal.Append(e); err != nil {
					return err
				}
				p.count(e)
			}
			p.bytes += next.bytes
			p.mu.Lock()
			p.jobs--
			p.mu.Unlock()
			order, done = p.order, nil
		case <-ticker.C:
			if err := p.tick(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tick shows the progress, looks whether there is any, and writes to the disk.
func (p *pump) tick() error {
	p.mu.Lock()
	idle, jobs, cause, said := time.Since(p.last), p.jobs, p.cause, p.said
	p.said = nil
	p.mu.Unlock()
	for _, text := range said {
		p.report("%s", text)
	}
	if p.client.Progress != nil {
		p.client.Progress(Progress{Bytes: p.bytes, Total: p.in.corpus.Bytes(), Texts: p.summary.Texts, Resumed: p.summary.Resumed,
			Rejected: p.summary.Rejected, Pending: jobs})
	}
	if jobs > 0 && idle > p.options.Patience {
		return &StalledError{idle, jobs, cause}
	}
	return p.journal.Sync()
}

// do asks for the vectors of a job until each of its texts has one, or a reason why it has none.
func (p *pump) do(ctx context.Context, j *job) {
	var usable []int
	for i, e := range j.entries {
		if e.Reason == "" {
			usable = append(usable, i)
		}
	}
	vectors, err := p.ask(ctx, j.texts, false)
	for i, at := range usable {
		e := &j.entries[at]
		if err == nil {
			e.Vector = vectors[i]
			continue
		}
		one, err := p.ask(ctx, j.texts[i:i+1], true)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			e.Reason = err.Error()
		default:
			e.Vector = one[0]
		}
	}
	close(j.done)
}

// ask asks until workers answer. The error is that of ctx, or says why there are no vectors.
func (p *pump) ask(ctx context.Context, texts []string, alone bool) (vectors [][]float32, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	enter, leave := p.alone.RLock, p.alone.RUnlock
	if alone {
		enter, leave = p.alone.Lock, p.alone.Unlock
	}
	for {
		p.room.take()
		enter()
		vectors, err = p.asker.vectors(ctx, texts)
		leave()
		p.room.give(errors.Is(err, errBusy))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p.note(err, alone); !errors.Is(err, errBusy) {
			return vectors, err
		}
		hub.Pause(ctx, askEvery)
	}
}

// A room says how many jobs are asked for at once: as many as workers took last, and after some
// results one more.
type room struct {
	mu          sync.Mutex
	free        sync.Cond
	open, limit int
	results     int // since the limit was raised
}

func newRoom() *room {
	r := &room{limit: perWorker}
	r.free.L = &r.mu
	return r
}

// take waits for room.
func (r *room) take() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.open >= r.limit {
		r.free.Wait()
	}
	r.open++
}

// raiseAfter is how many results there are for each job that may find no worker.
const raiseAfter = 4

// give gives room back. busy says that no worker took the job.
func (r *room) give(busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	if busy {
		r.limit, r.results = max(1, min(r.limit, r.open)), 0
	} else if r.results++; r.results >= min(raiseAfter, r.limit) {
		r.limit, r.results = r.limit+1, 0
	}
	r.free.Broadcast()
}

// note keeps what became of a try.
func (p *pump) note(err error, alone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause = err; err == nil {
		p.last = time.Now()
	}
	if err != nil && !errors.Is(err, errBusy) && !alone {
		p.split++
		p.said = append(p.said, fmt.Sprintf("a job fails, and its texts are sent one by one: %v", err))
	}
}
