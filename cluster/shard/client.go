package shard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Config describes a client and the keys and values of its sequences.
type Config struct {
	Heads     int          // key heads
	HeadSize  int          // of the keys
	ValueSize int          // head size of the values; 0 means HeadSize
	Type      kernel.DType // of the elements
	Group     int          // Int8: neighbours in a row that share a scale; 0 means all of a row

	// Replicas is on how many workers a block is placed. 0 means 2. If there are fewer
	// workers, there are fewer replicas.
	Replicas int

	// Patience is how long a worker may take to answer before another one that holds the same
	// blocks is asked too. 0 means 500 ms.
	Patience time.Duration

	// Timeout is how long a call waits for the last workers that could answer. 0 means 10 s.
	Timeout time.Duration

	// CommitKeys is how many keys are appended to a sequence of the directory before an Append
	// tells the directory, see [Client.Create]. 0 means 1: every Append does.
	CommitKeys int

	// Memory is the most bytes of partials that a call keeps at a time. 0 means 256 MiB. A
	// call that needs more goes through its queries in parts.
	Memory int64
}

// Client places sequences on workers and calls attention. It is for any number of
// goroutines.
type Client struct {
	messenger
	config   Config
	geometry wire.Geometry
	underWay int64               // bytes of messages and answers that may be under way
	room     *semaphore.Weighted // for them
	bucket   bucket
	memory   partialsMemory

	quarantine time.Duration // how long others are preferred to a worker that failed to answer

	holding sync.Once
	id      string // by which the client holds its sequences, see newName; "" before the first one

	mu       sync.Mutex
	workers  []string             // that answered last, sorted
	refused  []error              // of workers of another version
	searched time.Time            // when
	suspect  map[string]time.Time // workers that failed to answer, until when others are preferred
}

// underWay is the most bytes of messages and answers of a client that are under way at a time.
// A server cuts off clients for which it has to keep more than 64 MiB.
const underWay = 32 << 20

// New returns a client that knows the workers that run now, see [Client.Refresh]. The connection
// stays the caller's. The error is a [*kernel.Error], [ErrNoWorkers], which may come with an error
// of the kind [hub.ErrVersion], or comes from NATS or ctx.
func New(ctx context.Context, conn *hub.Conn, config Config) (*Client, error) {
	c, err := newClient(conn, config)
	if err != nil {
		return nil, err
	}
	if err := c.Refresh(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// newClient returns a client that knows no workers.
func newClient(conn *hub.Conn, config Config) (*Client, error) {
	c := &Client{messenger: messenger{conn: conn}, config: config, suspect: map[string]time.Time{}, quarantine: 5 * time.Second}
	c.limit(underWay)
	if err := c.complete(); err != nil {
		return nil, err
	}
	c.patience = c.config.Patience
	return c, nil
}

// limit sets how many bytes may be under way.
func (c *Client) limit(bytes int64) { c.underWay, c.room = bytes, semaphore.NewWeighted(bytes) }

// complete sets defaults and checks the configuration.
func (c *Client) complete() error {
	x := &c.config
	x.ValueSize = cmp.Or(x.ValueSize, x.HeadSize)
	if x.Type == kernel.Int8 && x.Group == 0 {
		x.Group = x.HeadSize
		if x.ValueSize != x.HeadSize {
			return argument("Group", 0, "a number that divides both head sizes, if they differ")
		}
	}
	x.Replicas = cmp.Or(x.Replicas, 2)
	x.Patience = cmp.Or(x.Patience, 500*time.Millisecond)
	x.Timeout = cmp.Or(x.Timeout, 10*time.Second)
	x.CommitKeys = cmp.Or(x.CommitKeys, 1)
	x.Memory = cmp.Or(x.Memory, 256<<20)
	c.geometry = wire.Geometry{Type: x.Type, Heads: x.Heads, KeySize: x.HeadSize, ValueSize: x.ValueSize, Group: x.Group}
	switch problem := c.geometry.Check(); {
	case problem != "":
		return &kernel.Error{Where: "Config", Got: problem, Want: "a form of keys and values that workers can hold"}
	case x.Replicas < 0 || x.Replicas > wire.MaxReplicas:
		return argument("Replicas", x.Replicas, fmt.Sprintf("0 to %d", wire.MaxReplicas))
	case x.Patience < 0:
		return argument("Patience", x.Patience, "0 or more")
	case x.Timeout < 0:
		return argument("Timeout", x.Timeout, "0 or more")
	case x.CommitKeys < 0:
		return argument("CommitKeys", x.CommitKeys, "0 or more")
	case x.Memory < 0:
		return argument("Memory", x.Memory, "0 or more")
	}
	if one, limit := wire.KeysOverhead+c.geometry.RowBytes()+wire.PutOverhead, answerLimit(c.conn); one > limit {
		return &kernel.Error{Where: "Config", Got: fmt.Sprintf("a key with its value in %d bytes", one), Want: fmt.Sprintf("%d or fewer, so that a message of the server holds it", limit)}
	}
	return nil
}

func argument(field string, got any, want string) error {
	return &kernel.Error{Where: "Config." + field, Got: fmt.Sprint(got), Want: want}
}

// Workers returns the names of the workers that [Client.Refresh] found.
func (c *Client) Workers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.workers)
}

// mayRefresh tells whether the last search for workers is some time ago.
func (c *Client) mayRefresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.searched) >= searchAgain
}

// Refused returns an error of the kind [hub.ErrVersion] for each worker of another version that
// [Client.Refresh] found. It gets no message.
func (c *Client) Refused() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.refused)
}

// suspects remembers that a worker failed to answer, and trust that it did answer.
func (c *Client) suspects(worker string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspect[worker] = time.Now().Add(c.quarantine)
}

func (c *Client) trust(worker string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.suspect, worker)
}

// trusted returns the workers, and the ones that are not suspects.
func (c *Client) trusted() (all, trusted []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(c.suspect, func(_ string, until time.Time) bool { return until.Before(now) })
	for _, w := range c.workers {
		if _, bad := c.suspect[w]; !bad {
			trusted = append(trusted, w)
		}
	}
	return slices.Clone(c.workers), trusted
}
