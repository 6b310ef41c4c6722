package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nuid"

	"github.com/attn-go/attn/cluster/shard/internal/store"
)

// Names of sequences say for whom workers hold them: CLIENT/ID for one that only its client knows,
// and NAME.ID for one in the directory. A client holds its name while its connection lasts, see
// [hub.Conn.Hold].
const (
	ofClient    = "/"
	ofDirectory = "."
)

// newName returns the name of a sequence that only this client knows.
func (c *Client) newName() string {
	c.holding.Do(func() {
		id := nuid.Next()
		if _, err := c.conn.Hold(id); err == nil { // otherwise the connection is closed, and no worker hears of it
			c.id = id
		}
	})
	if c.id == "" {
		return nuid.Next()
	}
	return c.id + ofClient + nuid.Next()
}

// orphans finds sequences that nobody can use any more: their client has ended, or the directory no
// longer has them, as when a worker did not hear that they were freed.
type orphans struct {
	worker *Worker
	keep   time.Duration
	since  map[string]time.Time // by name, when nobody could use it first
}

// run looks four times in the time for which orphans are kept, until ctx ends.
func (o *orphans) run(ctx context.Context) { every(ctx, o.keep/4, func() { o.sweep(ctx) }) }

// sweep frees what has been an orphan for long enough.
func (o *orphans) sweep(ctx context.Context) {
	held := o.worker.store.Held()
	maps.DeleteFunc(o.since, func(name string, _ time.Time) bool {
		_, there := held[name]
		return !there
	})
	gone := map[string]bool{} // by owner: a client has many sequences
	for name := range held {
		who := owner(name)
		known, asked := gone[who]
		if !asked {
			known = o.isOrphan(ctx, name)
			if strings.Contains(name, ofClient) {
				gone[who] = known
			}
		}
		since, before := o.since[name]
		switch {
		case !known:
			delete(o.since, name)
		case !before:
			o.since[name] = time.Now()
		case time.Since(since) >= o.keep:
			o.worker.config.Log.Info("forgets a sequence that nobody can use", "sequence", name, "of", who)
			o.worker.store.Free(name)
		}
	}
}

// isOrphan tells whether it is certain that nobody can use a sequence.
func (o *orphans) isOrphan(ctx context.Context, name string) bool {
	if client, _, ok := strings.Cut(name, ofClient); ok {
		held, err := o.worker.conn.IsHeld(ctx, client)
		return !held && err == nil
	}
	inDirectory, _, ok := strings.Cut(name, ofDirectory)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, orphanWait)
	defer cancel()
	kv, err := o.worker.bucket.open(ctx, o.worker.conn)
	if err != nil {
		return false
	}
	e, _, err := readEntry(ctx, kv, inDirectory)
	return errors.Is(err, ErrNotFound) || err == nil && e.ID != name
}

// orphanWait is how long the directory may take to answer.
const orphanWait = 5 * time.Second

// owner says for whom a worker holds a sequence.
func owner(name string) string {
	if client, _, ok := strings.Cut(name, ofClient); ok {
		return "client " + client
	}
	if inDirectory, _, ok := strings.Cut(name, ofDirectory); ok {
		return "sequence " + inDirectory
	}
	return fmt.Sprintf("unknown (%s)", name)
}

// Holding is what a worker holds for somebody.
type Holding struct {
	For    string `json:"for"` // "client ID" or "sequence NAME"
	Blocks int    `json:"blocks"`
	Bytes  int64  `json:"bytes"`
}

// holdings sums up what a store holds, by whom it is for.
func holdings(held map[string]store.Held) map[string]Holding {
	sums := map[string]Holding{}
	for name, h := range held {
		who := owner(name)
		x := sums[who]
		sums[who] = Holding{who, x.Blocks + h.Blocks, x.Bytes + h.Bytes}
	}
	return sums
}
