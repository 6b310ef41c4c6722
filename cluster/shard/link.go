package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/chain"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Limits of the chains of a worker.
const (
	linkBytes = 256 << 20        // of what links take, see linkMemory, and of states that wait
	linkTime  = 30 * time.Second // that a link waits for its state
	linkKeep  = 10 * time.Second // that a state waits for its link
	maxLinks  = 1 << 10          // links at a time
)

// errSilent is the error of a message that gets no answer: it came twice.
var errSilent = errors.New("shard: the message came twice")

// taskBytes is the most bytes that a worker needs for a block of a link beside its partials: a task, and the partials' headers.
const taskBytes = 1 << 10

// linkMemory returns the most bytes that a link takes of its worker until it ends: its queries and scoring in the message and as numbers,
// its blocks, and its state, which goes into a message, too.
func linkMemory(l *wire.Link) int64 {
	item := &l.Items[0]
	one := l.BlockBytes(item)
	return 2*int64(len(item.Rows)+wire.ScoringBytes(&l.Call.Scoring)) + int64(item.Blocks())*(one+taskBytes) + 3*one
}

// link does one link of a chain: it computes what its blocks contribute, waits for the state of the link before,
// merges, and hands the state on.
func (w *Worker) link(data []byte) ([]byte, error) {
	l, err := wire.ParseLink(data)
	if err != nil {
		return nil, err
	}
	if l.Next != "" && !hub.IsToken(l.Next) {
		return nil, fmt.Errorf("shard: %q is no name of a worker", l.Next)
	}
	bytes := linkMemory(l)
	if l.BlockBytes(&l.Items[0])+max(wire.StateOverhead, wire.AnswerOverhead) > int64(answerLimit(w.conn)) || bytes > linkBytes {
		return nil, errLarge
	}
	key := chain.Key{Chain: l.Chain, Number: l.Number}
	end, err := w.chains.Begin(key, bytes)
	if errors.Is(err, chain.ErrTwice) {
		return nil, errSilent
	}
	if err != nil {
		return nil, err
	}
	defer end()
	tasks := w.tasks(&l.Attend)
	defer w.release(tasks)
	for i := range tasks {
		if !tasks[i].held {
			return nil, errMissing
		}
	}
	took, err := w.compute(&l.Attend, tasks)
	if err != nil {
		return nil, err
	}
	state, err := w.stateBefore(l)
	if err != nil {
		return nil, err
	}
	merging, err := w.mergeInto(state, tasks)
	if err == nil && l.Next != "" {
		err = w.handOn(l, state)
	}
	if err != nil {
		return nil, err
	}
	return wire.AppendLinkAnswer(nil, l, took+merging, state), nil
}

// stateBefore returns the state that a link begins with.
func (w *Worker) stateBefore(l *wire.Link) (*kernel.Partials, error) {
	state, err := kernel.NewPartials(1, 1, l.Call.Heads, l.Items[0].Count, l.Geometry.ValueSize)
	if err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	if l.Number == 0 {
		return state, nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, min(l.Wait, linkTime))
	defer cancel()
	rows, err := w.chains.Wait(ctx, chain.Key{Chain: l.Chain, Number: l.Number})
	if err != nil {
		return nil, err
	}
	if len(rows) != l.StateBytes() {
		return nil, fmt.Errorf("shard: a state of %d bytes, want %d", len(rows), l.StateBytes())
	}
	wire.Floats(state.Out, wire.Floats(state.Sum, wire.Floats(state.Max, rows)))
	return state, nil
}

// mergeInto merges the results of tasks into a state, and returns the time that took.
func (w *Worker) mergeInto(state *kernel.Partials, tasks []task) (time.Duration, error) {
	parts := make([]kernel.Partials, len(tasks))
	for i := range tasks {
		parts[i] = *tasks[i].result
	}
	w.cores.Lock()
	defer w.cores.Unlock()
	started := time.Now()
	if err := kernel.MergeInto(state, parts, w.config.Exec); err != nil {
		return 0, fmt.Errorf("shard: %w", err)
	}
	return time.Since(started), nil
}

// handOn sends a state to the worker of the next link. One that does not answer is asked again, as the message may be lost:
// a state that comes twice counts once.
func (w *Worker) handOn(l *wire.Link, state *kernel.Partials) (err error) {
	rows := make([]byte, 0, l.StateBytes())
	for _, s := range [...][]float32{state.Max, state.Sum, state.Out} {
		rows = wire.AppendFloats(rows, s)
	}
	m := wire.State{Chain: l.Chain, Number: l.Number + 1, Kind: wire.StateIs, Rows: rows}
	data := m.Append(nil)
	to := &messenger{conn: w.conn, patience: sendPatience}
	for range sends {
		ctx, cancel := context.WithTimeout(w.ctx, sendPatience)
		_, err = to.request(ctx, l.Next, "state", data)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return err
}

// state takes the state before a link, or says whether the worker works on the link.
func (w *Worker) state(data []byte) ([]byte, error) {
	s, err := wire.ParseState(data)
	if err != nil {
		return nil, err
	}
	key := chain.Key{Chain: s.Chain, Number: s.Number}
	if s.Kind == wire.StateAsk {
		return nil, w.chains.Works(key)
	}
	return nil, w.chains.Put(key, s.Rows)
}
