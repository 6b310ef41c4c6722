package shard

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/attn-go/attn/cluster/hub"
)

// WorkerReport is what a worker says of itself.
type WorkerReport struct {
	ID      string    `json:"id"`      // [Worker.ID], by which the directory knows it
	Name    string    `json:"name"`    // [WorkerConfig.Name]
	Version string    `json:"version"` // of messages and numeric contract, as [hub.Version] writes it
	Leaving bool      `json:"leaving"` // it takes no more blocks
	Threads int       `json:"threads"`
	Cores   int       `json:"cores"` // of the machine
	Used    int64     `json:"used"`  // bytes
	Limit   int64     `json:"limit"` // bytes, [WorkerConfig.Memory]
	Holds   []Holding `json:"holds"` // most bytes first; the last one may sum up many others
	Error   string    `json:"error,omitempty"`
}

// mostHoldings is how many holdings a report lists by themselves, so that it fits a message.
const mostHoldings = 2048

// report answers the question what the worker holds and for whom.
func (w *Worker) report([]byte) ([]byte, error) {
	u := w.Usage()
	r := WorkerReport{ID: w.config.id, Name: w.config.Name, Version: hub.Own.String(), Leaving: w.leaving.Load(), Threads: w.config.Threads,
		Cores: runtime.NumCPU(), Used: u.Used, Limit: u.Limit, Holds: w.Holds()}
	if len(r.Holds) > mostHoldings {
		others := Holding{For: "others"}
		for _, h := range r.Holds[mostHoldings-1:] {
			others.Blocks += h.Blocks
			others.Bytes += h.Bytes
		}
		r.Holds = append(r.Holds[:mostHoldings-1], others)
	}
	return json.Marshal(r)
}

// Holds returns what the worker holds and for whom, most bytes first.
func (w *Worker) Holds() []Holding {
	return slices.SortedFunc(maps.Values(holdings(w.store.Held())), func(a, b Holding) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.For, b.For))
	})
}

// reportTime is how long a worker may take for its report.
const reportTime = 3 * time.Second

// Report asks all workers of a cluster for their reports, and returns them by name. A worker of
// another version, or one that does not answer, has an Error. The error comes from NATS or ctx.
func Report(ctx context.Context, conn *hub.Conn) ([]WorkerReport, error) {
	found, err := search(ctx, conn)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b peer) int { return cmp.Compare(a.name, b.name) })
	found = slices.CompactFunc(found, func(a, b peer) bool { return a.name == b.name }) // one that leaves says so by a second service
	all := make([]WorkerReport, len(found))
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	var asking sync.WaitGroup
	for i, p := range found {
		asking.Go(func() { all[i] = ask(ctx, conn, p) })
	}
	asking.Wait()
	return all, nil
}

// ask asks a worker for its report.
func ask(ctx context.Context, conn *hub.Conn, p peer) WorkerReport {
	r := WorkerReport{ID: p.name, Name: nameOf(p.name), Version: p.version.String(), Leaving: p.leaving}
	err := p.version.Check("worker " + p.name)
	if err == nil {
		var data []byte
		if data, err = (&messenger{conn: conn, patience: reportTime}).request(ctx, p.name, "report", nil); err == nil {
			err = json.Unmarshal(data, &r)
		}
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// Copies is how many workers hold the blocks of a sequence, as far as they answer.
type Copies struct {
	Least   int `json:"least"`   // of a block that has the fewest; 0 if the sequence has none
	Lacking int `json:"lacking"` // blocks with fewer copies than are wanted and there are workers for: these are made again
	Lost    int `json:"lost"`    // blocks that no worker holds
}

// Held returns the copies that there are of a sequence. A worker counts for all blocks that the
// directory says it holds, if it holds as many blocks of the sequence, and otherwise for none.
func (i *Info) Held(workers []WorkerReport) Copies {
	should := map[string]int{}
	for _, holders := range i.blocks {
		for _, w := range holders {
			should[w]++
		}
	}
	room, holds := 0, map[string]bool{}
	for _, w := range workers {
		if w.Error != "" {
			continue
		}
		if !w.Leaving {
			room++
		}
		at := slices.IndexFunc(w.Holds, func(h Holding) bool { return h.For == "sequence "+i.Name })
		holds[w.ID] = at >= 0 && w.Holds[at].Blocks >= should[w.ID]
	}
	return count(i.blocks, i.Config.Replicas, room, func(_ int, w string) bool { return holds[w] })
}

// count counts the copies of blocks. room is how many workers take blocks.
func count(blocks [][]string, replicas, room int, holds func(block int, worker string) bool) Copies {
	var c Copies
	for n, holders := range blocks {
		copies := 0
		for _, w := range holders {
			if holds(n, w) {
				copies++
			}
		}
		if n == 0 || copies < c.Least {
			c.Least = copies
		}
		switch {
		case copies == 0:
			c.Lost++
		case copies < min(replicas, room):
			c.Lacking++
		}
	}
	return c
}
