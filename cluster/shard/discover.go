package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/attn-go/attn/cluster/hub"
)

// What a worker says of itself to those who look for workers.
const (
	service = "attn-shard"
	nameKey = "worker"  // Worker.ID
	leaving = "leaving" // it takes no more blocks
)

// Refresh looks for workers. New blocks are placed on those that it finds; blocks that are placed
// stay where they are. [Client.Append] does so by itself if a worker that it knows does not answer,
// or if it knows fewer than a block should have. It returns [ErrNoWorkers] if there are none,
// joined with what [Client.Refused] returns.
func (c *Client) Refresh(ctx context.Context) error {
	found, err := search(ctx, c.conn)
	if err != nil {
		return err
	}
	workers, refused := choose(found)
	c.mu.Lock()
	c.workers, c.refused, c.searched = workers, refused, time.Now()
	c.mu.Unlock()
	if len(workers) == 0 {
		return errors.Join(append([]error{ErrNoWorkers}, refused...)...)
	}
	return nil
}

// lookForMore adds workers that have come. Others stay: that one search does not find them may
// be chance. Those that have started again, and did not answer, make room for their successors.
func (c *Client) lookForMore(ctx context.Context) {
	found, err := search(ctx, c.conn)
	if err != nil {
		return // the call goes on with those that there are
	}
	workers, _ := choose(found)
	c.mu.Lock()
	defer c.mu.Unlock()
	again := map[string]bool{}
	for _, w := range workers {
		again[nameOf(w)] = true
	}
	for _, w := range c.workers {
		if _, bad := c.suspect[w]; !bad || !again[nameOf(w)] {
			workers = append(workers, w)
		}
	}
	slices.Sort(workers)
	c.workers, c.searched = slices.Compact(workers), time.Now()
}

// peer is a worker as it describes itself.
type peer struct {
	name    string
	version hub.Version
	leaving bool // it takes no more blocks
}

// choose returns the names of the workers that may hold blocks, sorted, and an error of the kind
// [hub.ErrVersion] for each of another version.
func choose(found []peer) (workers []string, refused []error) {
	leaving := map[string]bool{}
	for _, p := range found {
		leaving[p.name] = leaving[p.name] || p.leaving
	}
	for _, p := range found {
		if err := p.version.Check("worker " + p.name); err != nil {
			refused = append(refused, err)
		} else if !leaving[p.name] {
			workers = append(workers, p.name)
		}
	}
	slices.Sort(workers)
	return slices.Compact(workers), refused
}

// search asks all services of the name of workers what they are.
func search(ctx context.Context, conn *hub.Conn) ([]peer, error) {
	infos, err := conn.Services(ctx, service)
	if err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	var found []peer
	for _, i := range infos {
		if name := i.Metadata[nameKey]; hub.IsToken(name) {
			found = append(found, peer{name, hub.ParseVersion(i.Metadata[hub.VersionHeader]), i.Metadata[leaving] != ""})
		}
	}
	return found, nil
}
