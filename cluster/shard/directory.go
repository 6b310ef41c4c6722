package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// The directory is a JetStream key-value bucket with an entry for each sequence. An entry is
// written only in place of the one that its writer has seen (compare and set), so of two
// clients that change a sequence at once one gets a ConflictError.

// DirectoryBytes is the most bytes of all entries together, unless the bucket was made with another
// limit. Beyond that a change that makes an entry longer, or a new one, is a [*DirectoryError], and
// nothing of it counts.
const DirectoryBytes = 256 << 20

// bucket is the directory, once it is open.
type bucket struct {
	mu sync.Mutex
	js jetstream.JetStream
	kv jetstream.KeyValue
}

// open opens the directory of a cluster, or creates it.
func (b *bucket) open(ctx context.Context, conn *hub.Conn) (jetstream.KeyValue, error) {
	return b.get(ctx, conn, true)
}

// get opens the directory of a cluster. If there is none it creates it or returns
// ErrBucketNotFound.
func (b *bucket) get(ctx context.Context, conn *hub.Conn, create bool) (jetstream.KeyValue, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kv != nil {
		return b.kv, nil
	}
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return nil, err
	}
	name := conn.StreamName(hub.DirectoryName)
	kv, err := js.KeyValue(ctx, name)
	if create && errors.Is(err, jetstream.ErrBucketNotFound) {
		config := jetstream.KeyValueConfig{Bucket: name, Description: "sequences of keys and values, and which workers hold them",
			MaxBytes: DirectoryBytes, Replicas: conn.Replicas(), LimitMarkerTTL: markerTime}
		kv, err = js.CreateKeyValue(ctx, config)
		if errors.Is(err, jetstream.ErrLimitMarkerTTLNotSupported) { // a server before NATS 2.11
			config.LimitMarkerTTL = 0
			kv, err = js.CreateKeyValue(ctx, config)
		}
		if errors.Is(err, jetstream.ErrBucketExists) { // another client was faster
			kv, err = js.KeyValue(ctx, name)
		}
	}
	if err == nil {
		b.js, b.kv = js, kv
	}
	return kv, err
}

// markerTime is how long the directory has a marker in place of an entry that was removed. Nobody
// reads markers.
const markerTime = time.Minute

// removeEntry removes an entry, unless it has changed since a revision. The marker in its place
// stays as long as the directory says, and for good in one that says nothing, as earlier versions
// have made it.
func removeEntry(ctx context.Context, kv jetstream.KeyValue, name string, revision uint64) error {
	status, err := kv.Status(ctx)
	if err != nil {
		return err
	}
	if ttl := status.LimitMarkerTTL(); ttl > 0 {
		return kv.Purge(ctx, name, jetstream.LastRevision(revision), jetstream.PurgeTTL(ttl))
	}
	return kv.Delete(ctx, name, jetstream.LastRevision(revision))
}

// directory returns the directory, and a context that ends after the client's timeout.
func (c *Client) directory(ctx context.Context, name string) (jetstream.KeyValue, context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	kv, err := c.bucket.open(ctx, c.conn)
	if err != nil {
		cancel()
		return nil, nil, nil, &DirectoryError{name, err}
	}
	return kv, ctx, cancel, nil
}

// Create makes a sequence without keys that other clients can open by its name: 1 to 40
// letters, digits, - and _.
//
// The client that appends to it or truncates it is its writer until another client does so. A
// writer that does not know the changes of another writer gets a [*ConflictError], and the sequence
// stays as it is. Others see what was appended when the Append returns, or later by
// Config.CommitKeys. If a writer ends in the middle, the sequence has the keys that the directory
// says, and any client can go on.
//
// Errors are a [*kernel.Error] or a [*DirectoryError], such as of [ErrExists].
func (c *Client) Create(ctx context.Context, name string) (*Sequence, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	kv, ctx, cancel, err := c.directory(ctx, name)
	if err != nil {
		return nil, err
	}
	defer cancel()
	s := &Sequence{client: c, name: name + "." + nuid.Next(), load: map[string]int{}}
	claim := nuid.Next()
	s.shared = &shared{name: name, writer: claim, claimed: true, claim: claim}
	s.epoch = claimEpoch
	s.shared.revision, err = kv.Create(ctx, name, s.entry().Encode())
	if errors.Is(err, jetstream.ErrKeyExists) {
		err = ErrExists
	}
	if err != nil {
		return nil, &DirectoryError{name, err}
	}
	s.synced()
	return s, nil
}

// checkName returns an error if a sequence cannot have a name in the directory.
func checkName(name string) error {
	if !hub.IsToken(name) || len(name) > 40 {
		return &kernel.Error{Where: "name", Got: fmt.Sprintf("%q", name), Want: "1 to 40 letters, digits, - and _"}
	}
	return nil
}

// Open returns a sequence of the directory as it is now: another client has created it, or
// this one. Errors are a [*kernel.Error] or a [*DirectoryError], such as of
// [ErrNotFound], or of a *kernel.Error if its keys and values are not of the client's
// configuration.
func (c *Client) Open(ctx context.Context, name string) (*Sequence, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	e, revision, err := c.read(ctx, name)
	if err != nil {
		return nil, err
	}
	s := &Sequence{client: c, name: e.ID, load: map[string]int{}, shared: &shared{name: name, claim: nuid.Next()}}
	s.adopt(e, revision)
	return s, nil
}

// read reads the entry of a sequence.
func (c *Client) read(ctx context.Context, name string) (*wire.Entry, uint64, error) {
	kv, ctx, cancel, err := c.directory(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	defer cancel()
	e, revision, err := readEntry(ctx, kv, name)
	if err != nil {
		return nil, 0, err
	}
	if e.Geometry != c.geometry {
		err := &kernel.Error{Where: "Config", Got: fmt.Sprintf("%+v", c.geometry), Want: fmt.Sprintf("%+v, which the sequence has", e.Geometry)}
		return nil, 0, &DirectoryError{name, err}
	}
	return e, revision, nil
}

// readAfter reads the entry of a sequence that has replaced a revision. Of three servers one may
// not have it yet.
func (c *Client) readAfter(ctx context.Context, name string, last uint64) (*wire.Entry, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	for {
		e, revision, err := c.read(ctx, name)
		if err != nil || revision > last {
			return e, revision, err
		}
		if err := hub.Pause(ctx, readPause); err != nil {
			return nil, 0, &DirectoryError{name, err}
		}
	}
}

// readPause is the time between two attempts to read what a server does not have yet.
const readPause = 10 * time.Millisecond

// readEntry reads an entry of any geometry.
func readEntry(ctx context.Context, kv jetstream.KeyValue, name string) (*wire.Entry, uint64, error) {
	value, err := kv.Get(ctx, name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, 0, &DirectoryError{name, err}
	}
	e, err := parseValue(name, value.Value())
	if err != nil {
		return nil, 0, err
	}
	return e, value.Revision(), nil
}

// parseValue reads an entry of this version. The error is a [*DirectoryError].
func parseValue(name string, data []byte) (*wire.Entry, error) {
	var v hub.Version
	v.Wire, v.Contract = wire.EntryVersion(data)
	if err := v.Check("its writer"); err != nil {
		return nil, &DirectoryError{name, err}
	}
	e, err := wire.DecodeEntry(data)
	if err != nil {
		return nil, &DirectoryError{name, err}
	}
	return e, nil
}

// Info is what the directory says of a sequence.
type Info struct {
	Name    string
	Keys    int
	Config  Config   // with which a client can open it: the form of its keys, and its Replicas
	Workers []string // that hold some of it, most first
	Copies  int      // least number of workers that should hold a block; 0 if it has none
	Err     error    // why the entry cannot be read, or nil

	blocks [][]string // workers that should hold each block
}

// listTime is how long reading the whole directory may take.
const listTime = time.Minute

// List returns what the directory of a cluster has, by name. The error is a
// [*DirectoryError].
func List(ctx context.Context, conn *hub.Conn) ([]Info, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var all []Info
	err := new(bucket).each(ctx, conn, func(name string, e *wire.Entry, err error) {
		if err != nil {
			all = append(all, Info{Name: name, Err: err})
		} else {
			all = append(all, describe(name, e))
		}
	})
	return sortedByName(all), err
}

// each calls f for every entry of the directory, or with the error why it cannot be read. The
// error is a [*DirectoryError].
func (b *bucket) each(ctx context.Context, conn *hub.Conn, f func(name string, e *wire.Entry, err error)) error {
	var kv jetstream.KeyValue
	var names []string
	err := askAgain(ctx, func(ctx context.Context) (err error) {
		if kv, err = b.get(ctx, conn, false); err == nil {
			names, err = b.names(ctx, kv)
		}
		return err
	})
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		return &DirectoryError{"", err}
	}
	for _, name := range names {
		one, cancel := context.WithTimeout(ctx, entryTime)
		e, _, err := readEntry(one, kv, name)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, ErrNotFound) { // removed
			f(name, e, err)
		}
	}
	return nil
}

// entryTime is how long the server may take for an entry. Of one that is damaged it may say
// nothing.
const entryTime = 2 * time.Second

// askAgain asks until there is an answer, each time for twice as long: while servers choose a
// leader they drop what they are asked, or say that there is none.
func askAgain(ctx context.Context, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for wait := entryTime; ; wait *= 2 {
		one, cancel := context.WithTimeout(ctx, wait)
		err := ask(one)
		cancel()
		var refusal *jetstream.APIError
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errNoLeader) && !(errors.As(err, &refusal) && refusal.ErrorCode == clusterNotAvailable) {
			return err
		}
		if hub.Pause(ctx, askPause) != nil {
			return err
		}
	}
}

// Limits of questions to servers that may have no leader: of all together, and the time between
// two.
const (
	askTime  = 8 * entryTime
	askPause = 100 * time.Millisecond
)

// clusterNotAvailable is the code of NATS for "JetStream system temporarily unavailable".
const clusterNotAvailable jetstream.ErrorCode = 10008

// errNoLeader reports a directory of which no server can say what it has.
var errNoLeader = errors.New("its servers have no leader now")

// names returns the names of all entries, also of those that were removed lately. It asks for no
// entries, as one that is damaged would end them.
func (b *bucket) names(ctx context.Context, kv jetstream.KeyValue) (names []string, err error) {
	stream, err := b.js.Stream(ctx, "KV_"+kv.Bucket())
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, err
	}
	if info.Cluster != nil && info.Cluster.Leader == "" { // then the state looks empty
		return nil, errNoLeader
	}
	for subject := range info.State.Subjects {
		names = append(names, subject[strings.LastIndexByte(subject, '.')+1:])
	}
	slices.Sort(names)
	return names, nil
}

// Forget removes an entry that this version cannot read from the directory: [Info].Err says why. An
// entry that it can read, or that changes meanwhile, stays; see [Sequence.Free]. What workers hold
// of the sequence they drop when nobody can use it, see WorkerConfig.Keep. The error is a
// [*DirectoryError].
func Forget(ctx context.Context, conn *hub.Conn, name string) error {
	kv, err := new(bucket).open(ctx, conn)
	if err != nil {
		return &DirectoryError{name, err}
	}
	value, err := kv.Get(ctx, name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = ErrNotFound
	}
	if err == nil {
		if _, err = parseValue(name, value.Value()); err == nil {
			err = errors.New("this version can read the entry")
		} else {
			err = removeEntry(ctx, kv, name, value.Revision())
		}
	}
	if err != nil {
		return &DirectoryError{name, err}
	}
	return nil
}

// Free frees a sequence of the directory, see [Sequence.Free], of whatever form its keys are, also
// while no worker answers.
func Free(ctx context.Context, conn *hub.Conn, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	kv, err := new(bucket).open(ctx, conn)
	if err != nil {
		return &DirectoryError{name, err}
	}
	e, _, err := readEntry(ctx, kv, name)
	if err != nil {
		return err
	}
	c, err := newClient(conn, describe(name, e).Config)
	if err != nil {
		return err
	}
	if err := c.Refresh(ctx); err != nil && !errors.Is(err, ErrNoWorkers) {
		return err
	}
	s, err := c.Open(ctx, name)
	if err != nil {
		return err
	}
	return s.Free(ctx)
}

// describe returns what an entry says.
func describe(name string, e *wire.Entry) Info {
	g := &e.Geometry
	i := Info{Name: name, Keys: e.Length, Config: Config{Heads: g.Heads, HeadSize: g.KeySize, ValueSize: g.ValueSize, Type: g.Type, Group: g.Group, Replicas: e.Replicas}, blocks: e.Blocks}
	load := map[string]int{}
	for n, block := range e.Blocks {
		if n == 0 || len(block) < i.Copies {
			i.Copies = len(block)
		}
		for _, w := range block {
			load[w]++
		}
	}
	i.Workers = slices.SortedFunc(maps.Keys(load), func(a, b string) int {
		return cmp.Or(cmp.Compare(load[b], load[a]), cmp.Compare(a, b))
	})
	return i
}

func sortedByName(all []Info) []Info {
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
