package shard

import (
	"context"
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
	var other *WorkerError
	var argument *kernel.Error
	switch {
	case errors.Is(err, hub.ErrVersion):
		return CodeVersion
	case errors.Is(err, hub.ErrDamaged):
		return CodeDamaged
	case errors.As(err, &other): // to which this one was to send rows
		return other.Code
	case errors.As(err, &argument) && !errors.Is(err, wire.ErrFormat):
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
	p, err := wire.Decode[wire.Put](data)
	if err != nil {
		return nil, err
	}
	var statuses []byte
	for i := range p.Items {
		statuses = append(statuses, byte(w.store.Put(&p.Geometry, &p.Items[i])))
	}
	return statuses, nil
}

// Limits of what a worker waits for when it sends rows to another one.
const (
	sendPatience = 500 * time.Millisecond
	sendTime     = 10 * time.Second
)

// send sends rows that the worker holds to another one.
func (w *Worker) send(data []byte) ([]byte, error) {
	m, err := wire.Decode[wire.Send](data)
	if err != nil {
		return nil, err
	}
	if m.To != "" && !hub.IsToken(m.To) {
		return nil, fmt.Errorf("shard: %q is no name of a worker", m.To)
	}
	k, v, ok := w.store.Get(&m.Geometry, m.Sequence, m.Epoch, m.Block, m.Rows)
	if !ok {
		return nil, errMissing
	}
	most := (answerLimit(w.conn) - wire.PutOverhead - wire.KeysOverhead) / m.Geometry.RowBytes()
	if most < 1 {
		return nil, errLarge
	}
	ctx, cancel := context.WithTimeout(w.ctx, sendTime)
	defer cancel()
	for lo := m.Lo; lo < m.Hi; lo += most {
		if err := w.sendRows(ctx, m, k, v, lo, min(lo+most, m.Hi)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// sendRows sends rows lo to hi-1 in one message.
func (w *Worker) sendRows(ctx context.Context, m *wire.Send, k, v kernel.Tensor, lo, hi int) error {
	rows := wire.AppendPair(make([]byte, 0, (hi-lo)*m.Geometry.RowBytes()), k, v, 0, lo, hi)
	put := wire.Put{Geometry: m.Geometry, Items: []wire.Keys{{Sequence: m.Sequence, Block: m.Block, Epoch: m.Epoch, Offset: lo, Count: hi - lo, Rows: rows}}}
	to := &messenger{conn: w.conn, patience: sendPatience}
	statuses, err := to.put(ctx, m.To, &put)
	if err != nil {
		return err
	}
	return statusError(m.To, statuses[0])
}

// free forgets a sequence.
func (w *Worker) free(data []byte) ([]byte, error) {
	f, err := wire.Decode[wire.Free](data)
	if err == nil {
		w.store.Free(f.Sequence)
	}
	return nil, err
}

// attend computes what blocks contribute to some rows.
func (w *Worker) attend(data []byte) ([]byte, error) {
	a, err := wire.Decode[wire.Attend](data)
	if err != nil {
		return nil, err
	}
	limit := answerLimit(w.conn)
	size := a.AnswerBytes(limit)
	if size > limit {
		return nil, errLarge
	}
	tasks := w.tasks(a)
	defer w.release(tasks)
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

// release gives the memory of results back.
func (w *Worker) release(tasks []task) {
	for i := range tasks {
		if tasks[i].result != nil {
			w.memory.put(tasks[i].result)
		}
	}
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
	result, err := w.memory.take(1, c.Heads, t.queries.Count, a.Geometry.ValueSize)
	if err != nil {
		return fmt.Errorf("shard: %w", err)
	}
	t.result = result
	options := kernel.PartialOptions{Exec: kernel.Exec{Tier: w.config.Tier, Threads: 1}, Scoring: c.Scoring.Kernel()}
	options.QueryStart, options.KeyStart = []int{t.queries.Start}, []int{t.block * wire.BlockKeys}
	if err := kernel.AttentionPartials(t.result, t.q, t.k, t.v, &options); err != nil {
		return fmt.Errorf("shard: %w", err)
	}
	return nil
}

// answerLimit returns the most bytes of a message, its header aside.
func answerLimit(conn *hub.Conn) int { return int(conn.MaxPayload()) - headerBytes }

// headerBytes is room for the headers of a message, which count for its size.
const headerBytes = 1024
