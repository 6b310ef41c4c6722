package shard

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Costs are the measured costs of one query of a shape on this machine.
type Costs struct {
	Block   time.Duration // the arithmetic of a block, if all threads work on blocks of their own
	Read    time.Duration // reading the partials of a block out of an answer
	Merge   time.Duration // merging a block
	Message time.Duration // a message to a worker and its answer on this machine, without contents

	QueryBytes   int // of a query in a message
	PartialBytes int // of a block in an answer
}

// Network is what messages pass through, from one machine to the NATS server and on to another.
type Network struct {
	Latency   time.Duration // from one machine to another over the server
	Bandwidth float64       // bytes a second of each machine, in each direction
	Message   int           // most bytes of a message
}

// measured is how many blocks are measured: with them the keys do not fit caches.
const measured = 64

// Measure measures the costs of one query with so many heads over sequences of a client with
// configuration c. It takes a second or two, and memory for 16384 keys.
func Measure(ctx context.Context, c Config, heads int, x kernel.Exec) (Costs, error) {
	client := &Client{config: c}
	if x.Threads == 0 {
		x.Threads = runtime.GOMAXPROCS(0)
	}
	var costs Costs
	server, err := hub.Serve(ctx, hub.ServerConfig{Port: -1})
	if err != nil {
		return costs, err
	}
	defer server.Close()
	if client.conn, err = hub.Connect(ctx, server.Client()); err != nil {
		return costs, err
	}
	defer client.conn.Close()
	if err := client.complete(); err != nil {
		return costs, err
	}
	g := &client.geometry
	if heads < 1 || heads%g.Heads != 0 || heads > wire.MaxHeads {
		return costs, &kernel.Error{Where: "heads", Got: fmt.Sprint(heads), Want: fmt.Sprintf("a multiple of %d up to %d", g.Heads, wire.MaxHeads)}
	}
	costs.QueryBytes, costs.PartialBytes = heads*g.KeySize*4, wire.PartialBytes(g, heads, 1)
	if costs.Message, err = client.measureMessage(ctx); err != nil {
		return costs, err
	}
	return costs, costs.measureBlocks(g, heads, x)
}

// rounds is how often each cost is measured; the least counts.
const rounds = 15

// least returns the least time of f.
func least(f func() error) (time.Duration, error) {
	best := time.Hour
	for range rounds {
		started := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(started))
	}
	return best, nil
}

// measureMessage measures a message without contents to a worker in this process.
func (c *Client) measureMessage(ctx context.Context) (time.Duration, error) {
	w, err := NewWorker(c.conn, WorkerConfig{Name: "measured", id: "measured"})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	const n = 50
	took, err := least(func() error {
		for range n {
			if _, err := c.request(ctx, "measured", "free", wire.AppendNames(nil, nil)); err != nil {
				return err
			}
		}
		return nil
	})
	return took / n, err
}

// measureBlocks measures the arithmetic, reading and merging.
func (c *Costs) measureBlocks(g *wire.Geometry, heads int, x kernel.Exec) error {
	q := kernel.BHLD(make([]float32, heads*g.KeySize), 1, heads, 1, g.KeySize)
	keys, values := make([]kernel.Tensor, measured), make([]kernel.Tensor, measured)
	for i := range keys {
		keys[i], values[i] = sampleBlock(g)
	}
	parts, err := kernel.NewPartials(measured, 1, heads, 1, g.ValueSize)
	if err != nil {
		return fmt.Errorf("shard: %w", err)
	}
	took, err := least(func() error { return partialsOf(parts, q, keys, values, x) })
	if err != nil {
		return err
	}
	c.Block = took / measured
	answer := wire.AppendFloats(wire.AppendFloats(wire.AppendFloats(nil, parts.Max), parts.Sum), parts.Out)
	took, _ = least(func() error {
		rest := wire.Floats(parts.Max, answer)
		wire.Floats(parts.Out, wire.Floats(parts.Sum, rest))
		return nil
	})
	c.Read = took / measured
	out := kernel.BHLD(make([]float32, heads*g.ValueSize), 1, heads, 1, g.ValueSize)
	took, err = least(func() error {
		return kernel.MergePartials(out, []kernel.Partials{*parts}, kernel.MergeOptions{Exec: x})
	})
	c.Merge = took / measured
	return err
}

// sampleBlock returns a block of small numbers.
func sampleBlock(g *wire.Geometry) (k, v kernel.Tensor) {
	fill := func(t kernel.DType, d int) kernel.Tensor {
		n := g.Heads * wire.BlockKeys * d
		b, src := wire.NewBuffer(t, n), make([]byte, n*wire.Size(t))
		for i := range src {
			src[i] = byte(i) & 0x37 // as half floats and float32: 2^-13 to 0.5
		}
		b.Put(0, n, src)
		return b.Tensor(g.Heads, wire.BlockKeys, wire.BlockKeys, d)
	}
	k, v = fill(g.Type, g.KeySize), fill(g.Type, g.ValueSize)
	if keyScales, valueScales := g.Scales(); keyScales > 0 {
		ks, vs := fill(kernel.Float32, keyScales), fill(kernel.Float32, valueScales)
		return k.Scaled(&ks), v.Scaled(&vs)
	}
	return k, v
}

// partialsOf computes the partials of blocks as a worker does: each on one thread.
func partialsOf(parts *kernel.Partials, q kernel.Tensor, keys, values []kernel.Tensor, x kernel.Exec) error {
	var next atomic.Int64
	var group errgroup.Group
	rows := parts.Heads * parts.Queries
	for range x.Threads {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(keys) {
					return nil
				}
				one := &kernel.Partials{Blocks: 1, Batch: 1, Heads: parts.Heads, Queries: parts.Queries, HeadSize: parts.HeadSize,
					Max: parts.Max[i*rows : (i+1)*rows], Sum: parts.Sum[i*rows : (i+1)*rows], Out: parts.Out[i*rows*parts.HeadSize : (i+1)*rows*parts.HeadSize]}
				err := kernel.AttentionPartials(one, q, keys[i], values[i], &kernel.PartialOptions{Exec: kernel.Exec{Tier: x.Tier, Threads: 1}, Scoring: kernel.Scoring{KeyStart: []int{i * wire.BlockKeys}}})
				if err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// Alone returns the time of one query over so many keys on one machine.
func (c *Costs) Alone(keys int) time.Duration {
	n := blocksOf(keys)
	return n * (c.Block + c.Merge)
}

// Star returns the forecast for calls of which all partials go to the client: machines workers with as many threads as this
// one hold single blocks. Arithmetic, network and reading overlap, as answers
// are cut into messages. Fewer than 1 machine, or 1 byte of w.Message, count as 1:
//
//	2·latency + message·answers + machines·query/bandwidth
//	+ max(arithmetic of the busiest, partials/bandwidth, reading) + one answer/bandwidth + merging
func (c *Costs) Star(keys, machines int, w Network) time.Duration {
	machines, w.Message = max(machines, 1), max(w.Message, 1)
	n := blocksOf(keys)
	busiest := (n + time.Duration(machines) - 1) / time.Duration(machines)
	bytes := int(n) * c.PartialBytes
	answers := max(machines, bytes/w.Message)
	return 2*w.Latency + c.Message*time.Duration(answers)/time.Duration(machines) + w.transfer(machines*c.QueryBytes) +
		max(busiest*c.Block, w.transfer(bytes), n*c.Read) + w.transfer(min(w.Message, bytes/machines)) + n*c.Merge
}

// Chain returns the forecast for calls that go as chains, see Config.Run: a worker merges what its run of blocks
// contributes into a state that it gets from the one before. Runs in a row lie on different workers, unless there is only
// one. Only states cross the network, but one after the other. Fewer than 1 machine, or 1 block of a run, count as 1:
//
//	2·latency + links·query/bandwidth + arithmetic of the busiest
//	+ links·(latency + message + state/bandwidth + reading) + merging
func (c *Costs) Chain(keys, machines, run int, w Network) time.Duration {
	machines, run = max(machines, 1), max(run, 1)
	n := blocksOf(keys)
	runs := (n + time.Duration(run) - 1) / time.Duration(run)
	busiest := min(n, (runs+time.Duration(machines)-1)/time.Duration(machines)*time.Duration(run))
	links := runs
	if machines == 1 {
		links = 1
	}
	hop := w.Latency + c.Message + w.transfer(c.PartialBytes) + c.Read
	return 2*w.Latency + w.transfer(int(links)*c.QueryBytes) + busiest*c.Block + links*hop + n*c.Merge
}

func blocksOf(keys int) time.Duration {
	return time.Duration((keys + wire.BlockKeys - 1) / wire.BlockKeys)
}

// transfer returns how long a machine's connection takes for so many bytes.
func (w *Network) transfer(bytes int) time.Duration {
	return time.Duration(float64(bytes) / w.Bandwidth * float64(time.Second))
}
