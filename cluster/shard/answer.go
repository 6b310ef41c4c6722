package shard

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// code returns the Code constant that tells a client about an error of a worker.
func code(err error) string {
	var version *hub.VersionError
	var other *WorkerError
	var argument *kernel.ArgumentError
	switch {
	case errors.As(err, &version):
		return CodeVersion
	case errors.Is(err, hub.ErrDamaged):
		return CodeDamaged
	case errors.As(err, &other): // to which this one was to send rows
		return other.Code
	case errors.As(err, &argument):
		return CodeArgument
	case errors.Is(err, errLarge):
		return CodeLimit
	case errors.Is(err, errMissing):
		return CodeMissing
	}
	return CodeFormat
}

var (
	errLarge   = errors.New("shard: the answer would be larger than a message may be")
	errMissing = errors.New("shard: the worker does not hold these rows")
)

// put stores keys and values.
func (w *Worker) put(data []byte) ([]byte, error) {
	p, err := wire.ParsePut(data)
	if err != nil {
		return nil, err
	}
	s := make([]wire.Status, len(p.Items))
	for i := range p.Items {
		s[i] = w.store.Put(&p.Geometry, &p.Items[i])
	}
	return wire.AppendStatuses(nil, s), nil
}

// free forgets sequences.
func (w *Worker) free(data []byte) ([]byte, error) {
	names, err := wire.ParseNames(data)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		w.store.Free(name)
	}
	return nil, nil
}

// drop forgets blocks.
func (w *Worker) drop(data []byte) ([]byte, error) {
	d, err := wire.ParseDrop(data)
	if err == nil {
		w.store.Drop(d)
	}
	return nil, err
}

// attend computes what blocks contribute to some rows.
func (w *Worker) attend(data []byte) ([]byte, error) {
	a, err := wire.ParseAttend(data)
	if err != nil {
		return nil, err
	}
	limit := answerLimit(w.conn)
	size := a.AnswerBytes(limit)
	if size > limit {
		return nil, errLarge
	}
	tasks := w.tasks(a)
	took, err := w.compute(a, tasks)
	if err != nil {
		return nil, err
	}
	b := wire.AppendTime(make([]byte, 0, size), took)
	for i := range tasks {
		b = wire.AppendBlock(b, tasks[i].result)
	}
	return b, nil
}

// task is one block of one item.
type task struct {
	queries *wire.Queries
	q       kernel.Tensor
	k, v    kernel.Tensor
	block   int
	held    bool
	result  *kernel.Partials // nil if the worker does not hold the block
}

// tasks returns the tasks of a message in the order of its answer.
func (w *Worker) tasks(a *wire.Attend) []task {
	var tasks []task
	for i := range a.Items {
		q := &a.Items[i]
		rows := wire.NewBuffer(a.Call.Type, a.Call.Heads*q.Count*a.Geometry.KeySize)
		rows.Put(0, a.Call.Heads*q.Count*a.Geometry.KeySize, q.Rows)
		t := task{queries: q, q: rows.Tensor(a.Call.Heads, q.Count, q.Count, a.Geometry.KeySize)}
		for _, x := range q.Ranges {
			for t.block = x.First; t.block < x.First+x.Count; t.block++ {
				keys := min(q.Keys-t.block*wire.BlockKeys, wire.BlockKeys)
				t.k, t.v, t.held = w.store.Get(&a.Geometry, q.Sequence, q.Epoch, t.block, keys)
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// compute computes all tasks, each on one thread: blocks are independent. It returns the time
// that took, without waiting for other messages.
func (w *Worker) compute(a *wire.Attend, tasks []task) (time.Duration, error) {
	w.cores.Lock()
	defer w.cores.Unlock()
	started := time.Now()
	var next atomic.Int64
	var group errgroup.Group
	for range min(w.config.Threads, len(tasks)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(tasks) {
					return nil
				}
				if err := w.partial(a, &tasks[i]); err != nil {
					return err
				}
			}
		})
	}
	err := group.Wait()
	return time.Since(started), err
}

// partial computes a task.
func (w *Worker) partial(a *wire.Attend, t *task) error {
	if !t.held {
		return nil
	}
	c := &a.Call
	t.result = kernel.NewPartials(1, 1, c.Heads, t.queries.Count, a.Geometry.ValueSize)
	options := kernel.Options{
		Exec:       kernel.Exec{Tier: w.config.Tier, Threads: 1},
		Scale:      c.Scale,
		Softcap:    c.Softcap,
		ALiBi:      c.Slopes,
		QueryStart: []int{t.queries.Start},
		KeyStart:   []int{t.block * wire.BlockKeys},
	}
	if c.Window {
		options.Mask = kernel.Window(c.Left, c.Right)
	}
	if err := kernel.AttentionPartials(t.result, t.q, t.k, t.v, options); err != nil {
		return fmt.Errorf("shard: %w", err)
	}
	return nil
}

// answerLimit returns the most bytes of a message, its header aside.
func answerLimit(conn *hub.Conn) int { return int(conn.MaxPayload()) - headerBytes }

// headerBytes is room for the headers of a message, which count for its size.
const headerBytes = 1024
