package bert

import (
	"context"
	"runtime"
	"sync"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/kernel"
)

// minTokens is the fewest tokens of a batch that is made smaller to occupy a thread. With
// fewer, the matrix products of several threads wait for the weights.
const minTokens = 128

// threads returns how many goroutines may work on a call.
func (o *Options) threads() int {
	most := runtime.GOMAXPROCS(0)
	if o.Threads == 0 {
		return most
	}
	return min(o.Threads, most)
}

// plan says how texts of so many tokens are spread over goroutines: how many tokens a batch has
// at most, and how many batches are computed at once.
func (o *Options) plan(total int) (tokens, workers int) {
	tokens = o.BatchTokens
	if tokens == 0 {
		tokens = 512
	}
	workers = min(o.threads(), total/minTokens)
	if workers <= 1 || o.ParallelFor != nil {
		return tokens, 1
	}
	rounds := ints.CeilDiv(total, ints.MulSat(tokens, workers))
	return ints.CeilDiv(total, rounds*workers), workers
}

// embedAll computes all embeddings, several batches at once.
func (e *Encoder) embedAll(ctx context.Context, out [][]float32, ids [][]int32) error {
	total := 0
	for _, text := range ids {
		total += len(text)
	}
	tokens, workers := e.opts.plan(total)
	list := batches(ids, tokens)
	exec := e.opts.Exec
	if workers = min(workers, len(list)); workers <= 1 {
		return e.embedBatches(ctx, exec, list, out, ids)
	}
	exec.Threads = e.opts.threads() / workers
	queue := make(chan []int, len(list))
	for _, batch := range list {
		queue <- batch
	}
	close(queue)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		all   sync.WaitGroup
		once  sync.Once
		first error
	)
	for range workers {
		all.Go(func() {
			for batch := range queue {
				if err := e.embedBatches(ctx, exec, [][]int{batch}, out, ids); err != nil {
					once.Do(func() { first = err })
					cancel() // the others end soon
					return
				}
			}
		})
	}
	all.Wait()
	return first
}

// embedBatches computes batches one by one.
func (e *Encoder) embedBatches(ctx context.Context, exec kernel.Exec, list [][]int, out [][]float32, ids [][]int32) error {
	s := e.free.Get().(*scratch)
	defer e.free.Put(s)
	width := e.config.Width
	for _, batch := range list {
		x, err := e.forward(ctx, s, exec, batch, ids, nil)
		if err != nil {
			return err
		}
		for i, text := range batch {
			pool(out[text], x[s.starts[i]*width:s.starts[i+1]*width], s.mean)
		}
	}
	return nil
}
