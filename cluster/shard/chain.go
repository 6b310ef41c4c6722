package shard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/shard/internal/placement"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// A unit of a call goes as a chain if its blocks lie in long runs on the workers. Each worker merges the partials of
// its run into a state of one block, which it gets from the worker before and hands on to the next one. That
// is the order of the numeric contract, so the last state, merged alone, gives the bits of all partials merged here.
//
// A chain is never tried again: if anything is wrong with it, the client asks for the partials of all blocks,
// which has its own ways around what is wrong.

// blocksPerLink is how many blocks a chain must have for each of its links. With fewer the partials of all blocks are
// few bytes more than the states, and come at once and not one after the other.
const blocksPerLink = 8

// chainsAtOnce is how many chains of a call are under way at a time.
const chainsAtOnce = 64

// linkedUnit is a unit that goes as a chain.
type linkedUnit struct {
	*call
	*unit
	links []*wire.Link
	to    []string // worker of each link
}

// linkAnswer is the answer to a link.
type linkAnswer struct {
	number int
	took   time.Duration
	state  []byte
	size   int // bytes of the answer
	err    error
}

// chain has workers merge the partials of units, as far as those go as chains. It returns the units that are left, because they
// do not, or because something was wrong.
func (a *call) chain(parent context.Context, units []*unit) (left []*unit) {
	if a.client.config.Run < 2 {
		return units
	}
	ctx, cancel := context.WithTimeout(parent, a.client.config.Timeout/2) // the rest is for what is left
	defer cancel()
	var mu sync.Mutex // of stats
	done := make([]bool, len(units))
	_, trusted := a.client.trusted()
	load := map[string]int{}
	var group errgroup.Group
	group.SetLimit(chainsAtOnce)
	for i, u := range units {
		if x := a.linked(u, trusted, load); x != nil {
			group.Go(func() error {
				stats, err := x.run(ctx)
				mu.Lock()
				defer mu.Unlock()
				done[i] = err == nil
				a.stats.Add(stats)
				return nil
			})
		}
	}
	group.Wait()
	for i, u := range units {
		if !done[i] {
			left = append(left, u)
		}
	}
	return left
}

// linked returns a unit as a chain, or nil if it does not go as one.
func (a *call) linked(u *unit, workers []string, load map[string]int) *linkedUnit {
	g, limit := &a.client.geometry, answerLimit(a.client.conn)
	n := u.hi - u.lo
	switch {
	case len(u.owners) < blocksPerLink,
		wire.StateOverhead+wire.PartialBytes(g, a.heads(), n) > limit,
		wire.LinkOverhead+a.messageBytes()+n*a.queryBytes() > limit:
		return nil
	}
	links := placement.Links(u.owners, u.first, a.client.config.Run, workers, load)
	if len(links) == 0 || len(links)*blocksPerLink > len(u.owners) || len(links) > wire.MaxLinks {
		return nil
	}
	x := &linkedUnit{call: a, unit: u}
	var id wire.ChainID
	rand.Read(id[:])
	for i, l := range links {
		m := a.message(&wire.Link{Chain: id, Number: i, Wait: min(a.client.config.Timeout/2, linkTime)}, u, l)
		if linkMemory(m) > linkBytes {
			return nil // the worker would refuse it
		}
		if i > 0 {
			x.links[i-1].Next = l.Worker
		}
		x.links, x.to = append(x.links, m), append(x.to, l.Worker)
	}
	return x
}

// message completes the message of a link.
func (a *call) message(m *wire.Link, u *unit, l placement.Link) *wire.Link {
	item := a.queries(u)
	item.Ranges = []wire.Range{{First: u.first + l.First, Count: l.Count}}
	m.Attend = *a.attend()
	m.Items = []wire.Queries{item}
	return m
}

// run has the workers do all links, and takes the state of the last one. If that fails, those that wait are told.
func (x *linkedUnit) run(ctx context.Context) (stats Stats, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make([][]byte, len(x.links))
	open := map[int]bool{}
	for i, l := range x.links {
		messages[i], open[i] = l.Append(nil), true
		stats.Sent += int64(len(messages[i]))
	}
	size := min(stats.Sent+int64(x.links[0].StateBytes()), x.client.underWay)
	if err := x.client.room.Acquire(ctx, size); err != nil { // for all links, as none of them ends without the others
		return Stats{}, err
	}
	defer x.client.room.Release(size)
	answers := make(chan linkAnswer, len(x.links))
	for i := range x.links {
		go x.ask(ctx, i, messages[i], answers)
	}
	stats.Requests = len(x.links)
	computed := map[string]time.Duration{}
	for len(open) > 0 {
		answer := <-answers
		delete(open, answer.number)
		if answer.err != nil {
			stats.Retries++ // of what is asked for again
			x.giveUp(open)
			return stats, answer.err
		}
		stats.Received += int64(answer.size)
		computed[x.to[answer.number]] += answer.took
		if answer.state != nil {
			if x.partials, err = stateOf(x.links[answer.number], answer.state); err != nil {
				x.giveUp(open)
				return stats, err
			}
		}
	}
	for _, took := range computed {
		stats.Compute += took
		stats.Slowest = max(stats.Slowest, took)
	}
	stats.Blocks, stats.Chained = len(x.owners), len(x.owners)
	return stats, nil
}

// stateOf returns the state of a link's answer.
func stateOf(l *wire.Link, rows []byte) (*kernel.Partials, error) {
	p, err := kernel.NewPartials(1, 1, l.Call.Heads, l.Items[0].Count, l.Geometry.ValueSize)
	if err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	wire.Floats(p.Out, wire.Floats(p.Sum, wire.Floats(p.Max, rows)))
	return p, nil
}

// ask sends the message of a link, and its answer to answers.
func (x *linkedUnit) ask(ctx context.Context, number int, data []byte, answers chan<- linkAnswer) {
	l, c := x.links[number], x.client
	answer := linkAnswer{number: number}
	defer func() { answers <- answer }()
	question := (&wire.State{Chain: l.Chain, Number: number, Kind: wire.StateAsk}).Append(nil)
	m := messenger{conn: c.conn, patience: c.patience, works: question}
	reply, err := m.requestOnce(ctx, x.to[number], "link", data)
	if err == nil {
		answer.size = len(reply)
		answer.took, answer.state, err = wire.ParseLinkAnswer(reply, l)
		if err != nil {
			err = malformed(x.to[number], err)
		}
	}
	// Without a cause it is an answer of this worker, which says that the next one is silent.
	if e := (*WorkerError)(nil); errors.As(err, &e) && silent(err) && e.err != nil && ctx.Err() == nil {
		c.suspects(x.to[number])
	}
	answer.err = err
}

// giveUp tells the workers of links that are under way that no state will come.
func (x *linkedUnit) giveUp(open map[int]bool) {
	for i := range open {
		m := wire.State{Chain: x.links[i].Chain, Number: i, Kind: wire.StateNone}
		x.client.tell(x.to[i], "state", m.Append(nil))
	}
}
