package shard

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// shared is what a sequence of the directory has in addition. Sequence.mu guards it.
//
// Epochs make rows of different writers tell themselves apart on the workers. A writer claims the
// sequence before it sends the first row: it writes an entry with an epoch above all that another
// one has used or can use. Workers replace rows by rows of a later epoch, and never by rows of an
// earlier one. So rows that a writer sends after it has lost its claim, or that it sent and never
// committed, lie after the keys of the entry, and the next writer's replace them.
type shared struct {
	name      string // in the directory
	claim     string // by which this client claims the sequence
	claimed   bool
	writer    string   // that the entry has
	revision  uint64   // of the entry that was read or written last
	base      uint64   // its epoch
	committed int      // its length
	reach     int      // the most keys that an entry has, if the last write is counted as stored
	cut       uint64   // epoch of the last entry with fewer keys than one before
	known     []placed // its blocks, or of a later entry as far as their holders are adopted
	changed   bool     // since then
	unsure    bool     // the last write may have been stored or not
	stale     bool     // another client has changed the sequence
}

// claimEpoch is the distance between the epochs of two claims.
const claimEpoch = 1 << 32

// change notes that the sequence is not what the directory has.
func (s *Sequence) change() {
	if s.shared != nil {
		s.shared.changed = true
	}
}

// readEpoch returns the epoch up to which rows are those that this client knows.
func (s *Sequence) readEpoch() uint64 {
	if s.shared == nil || s.shared.claimed {
		return s.epoch
	}
	return s.shared.base
}

// entry returns the sequence as the directory should have it.
func (s *Sequence) entry() *wire.Entry {
	e := &wire.Entry{Wire: hub.Own.Wire, Contract: hub.Own.Contract, ID: s.name, Geometry: s.client.geometry,
		Replicas: s.client.config.Replicas, Writer: s.shared.writer, Epoch: s.readEpoch(), Cut: s.shared.cut, Length: s.length}
	for _, b := range s.blocks {
		e.Blocks = append(e.Blocks, b.workers)
	}
	return e
}

// synced notes that the entry is what this client has.
func (s *Sequence) synced() {
	x := s.shared
	x.base, x.committed, x.known, x.changed, x.unsure, x.stale = s.readEpoch(), s.length, slices.Clone(s.blocks), false, false, false
	x.reach = s.length
}

// adopt makes the sequence what an entry says.
func (s *Sequence) adopt(e *wire.Entry, revision uint64) {
	x := s.shared
	x.claimed = e.Writer == x.claim
	x.writer, x.revision = e.Writer, revision
	s.name, s.length, s.epoch = e.ID, e.Length, max(s.epoch, e.Epoch)
	s.blocks = nil
	for _, workers := range e.Blocks {
		s.blocks = append(s.blocks, placed{workers})
	}
	s.recount()
	s.synced()
	x.base, x.cut = e.Epoch, e.Cut
}

// adoptHolders takes the holders of blocks from a later entry, but not of those that this
// client has moved itself, nor of a block with rows that only this client knows: a new holder
// does not have them.
func (s *Sequence) adoptHolders(e *wire.Entry) {
	known := s.shared.known
	if s.hasTail() {
		known = known[:s.tail()]
	}
	for i := range min(len(s.blocks), len(e.Blocks), len(known)) {
		if slices.Equal(e.Blocks[i], known[i].workers) {
			continue
		}
		if slices.Equal(s.blocks[i].workers, known[i].workers) {
			s.blocks[i].workers = e.Blocks[i]
			s.moves++
		}
		known[i].workers = e.Blocks[i]
	}
	s.recount()
}

// tail is the block that the directory has in part.
func (s *Sequence) tail() int { return s.shared.committed / wire.BlockKeys }

// hasTail tells whether this client has appended to a block that the directory has in part.
func (s *Sequence) hasTail() bool {
	return s.shared.committed%wire.BlockKeys > 0 && s.length > s.shared.committed
}

// tailMoved tells whether an entry has other holders of the tail than this client knows.
func (s *Sequence) tailMoved(e *wire.Entry) bool {
	i := s.tail()
	return s.hasTail() && i < len(e.Blocks) && !slices.Equal(e.Blocks[i], s.shared.known[i].workers)
}

// recount counts the blocks of each worker. Workers that have none stay, as they may hold
// something.
func (s *Sequence) recount() {
	for w := range s.load {
		s.load[w] = 0
	}
	for _, b := range s.blocks {
		for _, w := range b.workers {
			s.load[w]++
		}
	}
}

// Reload reads a sequence of the directory again. It then has the keys of the directory: others may
// have appended some or cut some off. Keys that this client has appended and not committed are
// dropped. A sequence that is not in the directory stays as it is. The error is a
// [*DirectoryError]. Reload counts as appending.
func (s *Sequence) Reload(ctx context.Context) error {
	if s.shared == nil {
		return nil
	}
	e, revision, err := s.client.read(ctx, s.shared.name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adopt(e, revision)
	s.moves++
	return nil
}

// Commit tells the directory of keys that it does not know yet, see Config.CommitKeys. Errors
// are as of [Client.Append]. It counts as appending.
func (s *Sequence) Commit(ctx context.Context) error {
	if err := s.prepareChange(ctx); err != nil || s.shared == nil {
		return err
	}
	s.mu.Lock()
	due := s.shared.changed || s.shared.unsure
	s.mu.Unlock()
	if !due {
		return nil
	}
	return s.write(ctx, false)
}

// prepareChange is prepare if the client has cut off keys that the directory has.
func (s *Sequence) prepareChange(ctx context.Context) error {
	s.mu.Lock()
	shorter := s.shared != nil && s.length < s.shared.committed
	s.mu.Unlock()
	if !shorter {
		return nil
	}
	return s.prepare(ctx)
}

// prepare makes the client the writer of the sequence. Rows that the directory has must not be
// replaced, so keys that were cut off are committed first.
func (s *Sequence) prepare(ctx context.Context) error {
	s.mu.Lock()
	x := s.shared
	if x == nil || x.claimed && !x.unsure && s.length >= x.committed {
		s.mu.Unlock()
		return nil
	}
	before, writer, claimed := s.epoch, x.writer, x.claimed
	if !claimed {
		s.epoch = (max(s.epoch, x.base)/claimEpoch + 1) * claimEpoch
		x.writer, x.claimed = x.claim, true
	}
	s.mu.Unlock()
	err := s.write(ctx, false)
	if err != nil && !claimed {
		s.mu.Lock()
		s.epoch, x.writer, x.claimed = before, writer, false
		s.mu.Unlock()
	}
	return err
}

// tries is how often a write is tried again after other clients have moved blocks.
const tries = 10

// errMoved reports that another client has given the block that an append goes on in to other
// workers. They lack its rows.
var errMoved = errors.New("shard: a block has other holders")

// write writes the entry of the sequence in place of the one that this client knows. resend
// says that the rows that the directory does not know are at hand: if they belong to a block
// that has got other holders, the error is errMoved. Otherwise the holders of that block are
// those that this client knows.
func (s *Sequence) write(ctx context.Context, resend bool) error {
	return s.replace(ctx, resend, func(ctx context.Context, kv jetstream.KeyValue) error {
		x := s.shared
		s.mu.Lock()
		if s.length < x.reach {
			s.epoch++ // so that it is later than in any entry with more keys
			x.cut = s.epoch
		}
		x.reach = max(x.reach, s.length)
		data, last := s.entry().Encode(), x.revision
		s.mu.Unlock()
		revision, err := kv.Update(ctx, x.name, data, last)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case err == nil:
			x.revision = revision
			s.synced()
		case !otherRevision(err):
			x.unsure = true
		}
		return err
	})
}

// replace has change replace the entry that this client knows. If another client has only moved
// blocks since, it takes over where they are and tries again. For resend see write.
func (s *Sequence) replace(ctx context.Context, resend bool, change func(ctx context.Context, kv jetstream.KeyValue) error) error {
	name := s.shared.name
	kv, ctx, cancel, err := s.client.directory(ctx, name)
	if err != nil {
		return err
	}
	defer cancel()
	for range tries {
		s.mu.Lock()
		last := s.shared.revision
		s.mu.Unlock()
		err := change(ctx, kv)
		switch {
		case err == nil:
			return nil
		case !otherRevision(err):
			return &DirectoryError{name, err}
		}
		e, revision, err := s.client.readAfter(ctx, name, last)
		if err != nil {
			return err
		}
		if err := s.rebase(e, revision, resend); err != nil {
			return err
		}
	}
	return &ConflictError{name}
}

// rebase prepares another try to write the entry, after that in the directory has changed.
func (s *Sequence) rebase(e *wire.Entry, revision uint64, resend bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.shared
	if s.isChangedBy(e) {
		x.claimed = false
		return &ConflictError{x.name}
	}
	if resend && s.tailMoved(e) {
		return errMoved
	}
	s.adoptHolders(e)
	x.reach = max(x.reach, e.Length)
	x.revision = revision
	return nil
}

// isChangedBy tells whether an entry has other keys than this client knows, of another writer.
func (s *Sequence) isChangedBy(e *wire.Entry) bool {
	return e.ID != s.name || e.Epoch != s.shared.base && e.Writer != s.shared.claim
}

// otherRevision tells whether the directory refused an entry because it has another one than
// the writer knew.
func otherRevision(err error) bool { return errors.Is(err, jetstream.ErrKeyRevisionMismatch) }

// look takes over where other clients have moved blocks. Workers know whether their rows are
// those that this client knows, so holders of other rows do no harm.
func (s *Sequence) look(ctx context.Context) error {
	e, _, err := s.client.read(ctx, s.shared.name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared.stale = s.isChangedBy(e)
	if e.ID == s.name {
		s.adoptHolders(e)
	}
	return nil
}

// lookAgain has a call that lacks blocks look where others have moved them. It returns nil if that
// is worth another try, and otherwise the error of the call, with a [*ConflictError] if another
// client has changed any of the sequences.
func lookAgain(ctx context.Context, err error, sequences []*Sequence, known []int) error {
	if !errors.As(err, new(*BlocksError)) || ctx.Err() != nil {
		return err
	}
	if e := each(sequences, func(s *Sequence) error { return s.look(ctx) }); e != nil {
		return errors.Join(err, e)
	}
	if !slices.Equal(known, movesOf(sequences)) {
		return nil
	}
	for _, s := range sequences {
		if s.shared != nil && s.isStale() {
			err = errors.Join(err, &ConflictError{s.shared.name})
		}
	}
	return err
}

func (s *Sequence) isStale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared.stale
}

// remove removes the sequence from the directory.
func (s *Sequence) remove(ctx context.Context) error {
	return s.replace(ctx, false, func(ctx context.Context, kv jetstream.KeyValue) error {
		s.mu.Lock()
		last := s.shared.revision
		s.mu.Unlock()
		return removeEntry(ctx, kv, s.shared.name, last)
	})
}
