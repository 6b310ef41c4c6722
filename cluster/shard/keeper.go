package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// A keeper makes copies of blocks of the directory again after workers are gone. Each worker has
// one. A block is for the keeper of the first of its holders that are left, so keepers need not
// agree on anything, and two that see different workers at worst copy a block twice.
type keeper struct {
	worker *Worker
	gone   time.Duration        // after which a worker that does not answer counts as gone
	seen   map[string]time.Time // when each worker has answered last, or an entry has named it first
	looked time.Time            // of the last search
	alone  bool                 // the last search has not found this worker itself
	rest   int                  // rounds until the directory is read again if nothing changes
	live   []string             // workers of the last round
	lost   map[string]int       // blocks that nobody holds, by sequence, as the log has them
	doubts map[string]int       // those that a round has found and another one has to confirm
	failed string               // what the log has of the last round's error
}

// The directory is read in each round while blocks lack holders, and otherwise only now and
// then: for entries that other programs have written meanwhile.
const (
	roundsPerGone = 4
	restRounds    = 24
)

// newKeeper returns a keeper for a worker.
func newKeeper(w *Worker, gone time.Duration) *keeper {
	return &keeper{worker: w, gone: gone, seen: map[string]time.Time{}, looked: time.Now(), lost: map[string]int{}, doubts: map[string]int{}}
}

// keep looks after the blocks until ctx ends.
func (k *keeper) keep(ctx context.Context) {
	every(ctx, k.gone/roundsPerGone, func() {
		if err := k.round(ctx); ctx.Err() == nil {
			k.say(err)
		}
	})
}

// every calls f again and again, the first time after a pause, until ctx ends.
func every(ctx context.Context, pause time.Duration, f func()) {
	tick := time.NewTicker(max(pause, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

// say writes the error of a round into the log, unless the round before had it.
func (k *keeper) say(err error) {
	if err == nil {
		k.failed = ""
		return
	}
	k.rest = 0
	if text := err.Error(); text != k.failed {
		k.failed = text
		k.worker.config.Log.Warn("repair", "error", err)
	}
}

// look finds out who is there. While this worker is cut off, no time passes for the others: it
// cannot know whether they were there. While a round takes long, at most half of gone passes, so
// that one search that misses a worker does not make it gone, and several do.
func (k *keeper) look(ctx context.Context) error {
	found, err := search(ctx, k.worker.conn)
	if err != nil {
		return err
	}
	k.live, _ = choose(found)
	now := time.Now()
	void := now.Sub(k.looked)
	if longest := max(k.gone, hub.SearchTime); !k.alone && void <= longest {
		void = 0
	} else if !k.alone {
		void -= longest / 2
	}
	for w, last := range k.seen {
		k.seen[w] = last.Add(void)
	}
	k.looked, k.alone = now, !slices.Contains(k.live, k.worker.config.id)
	for _, w := range k.live {
		k.seen[w] = now
	}
	return nil
}

// round repairs sequences whose blocks lack holders.
func (k *keeper) round(ctx context.Context) error {
	before := k.live
	if err := k.look(ctx); err != nil {
		return err
	}
	if k.alone { // it is cut off, or leaves
		k.rest = 0
		return nil
	}
	if k.rest > 0 && slices.Equal(k.live, before) {
		k.rest--
		return nil
	}
	k.rest = restRounds
	before = k.live
	var errs []error
	var all Copies
	there, changed := map[string]bool{}, false
	err := k.worker.bucket.each(ctx, k.worker.conn, func(name string, e *wire.Entry, err error) {
		there[name] = true
		if err == nil && time.Since(k.looked) > k.gone {
			err = k.look(ctx) // servers that choose a leader take their time
			changed = changed || err != nil || k.alone || !slices.Equal(k.live, before)
		}
		var c Copies
		if err == nil && !k.alone {
			c, err = k.repair(ctx, name, e)
			k.confirm(name, &c, len(e.Blocks), err)
		} else {
			c.Lost = k.lost[name] // as long as nobody knows better
		}
		all.Lacking += c.Lacking
		all.Lost += c.Lost
		if err != nil && !errors.Is(err, ErrNotFound) {
			errs = append(errs, err)
		}
	})
	if hasNoDirectory(err) {
		return nil
	}
	if err == nil {
		for name := range k.lost {
			if !there[name] {
				k.setLost(name, 0, 0)
			}
		}
		isNotThere := func(name string, _ int) bool { return !there[name] }
		maps.DeleteFunc(k.lost, isNotThere)
		maps.DeleteFunc(k.doubts, isNotThere)
	}
	if changed { // the names before have been looked at with other workers, and some not at all
		k.rest = 0
	} else if err == nil {
		k.worker.found.Store(&all)
	}
	return errors.Join(append(errs, err)...)
}

// confirm takes over what a round has found of a sequence with so many blocks, as far as err lets
// it know. Of blocks that nobody holds it leaves those in c that an earlier round has found, too:
// the sequence may have been freed, or their holders are about to be found.
func (k *keeper) confirm(name string, c *Copies, blocks int, err error) {
	known := k.lost[name]
	if err != nil {
		c.Lost = max(c.Lost, known)
	}
	switch found := c.Lost; {
	case found > known:
		c.Lost = max(known, min(found, k.doubts[name]))
		k.doubts[name] = found
		if c.Lost < found {
			k.rest = 0
		}
	case err == nil:
		delete(k.doubts, name)
	}
	k.setLost(name, c.Lost, blocks)
}

// setLost notes how many blocks of a sequence nobody holds, and writes it into the log if it has
// changed. Of one that was freed they are none.
func (k *keeper) setLost(name string, lost, of int) {
	if lost != k.lost[name] {
		k.worker.config.Log.Warn("blocks that no worker holds", "sequence", name, "lost", lost, "of", of)
	}
	k.lost[name] = lost
}

// hasNoDirectory tells whether an error comes from a server without JetStream.
func hasNoDirectory(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// repair makes the copies of blocks of a sequence that are for this worker to make. It returns what
// lacks, and what nobody holds.
func (k *keeper) repair(ctx context.Context, name string, e *wire.Entry) (Copies, error) {
	var mine []int
	for i, holders := range e.Blocks {
		switch is, waits := k.isMine(holders, e.Replicas); {
		case waits:
			k.rest = 0
		case is:
			mine = append(mine, i)
		}
	}
	found := count(e.Blocks, e.Replicas, len(k.live), func(_ int, w string) bool { return !k.isGone(w) }) // one search may miss a worker
	if len(mine) == 0 {
		return found, nil
	}
	r := &repair{live: k.live}
	left, err := k.worker.settle(ctx, name, e, mine, r)
	if len(mine) > left {
		k.rest = 0
	}
	if r.copies > 0 {
		k.worker.config.Log.Info("copied blocks that have lost a holder", "sequence", name, "copies", r.copies)
	}
	found.Lacking -= left
	found.Lost += left
	return found, err
}

// isMine tells whether this worker is to make copies of a block with the given holders, or
// whether it waits until a holder has been gone for long enough. For a block whose holders do not
// answer all workers wait: they have to say that it is lost.
func (k *keeper) isMine(holders []string, replicas int) (is, waits bool) {
	var left, missing []string
	for _, w := range holders {
		if slices.Contains(k.live, w) {
			left = append(left, w)
		} else {
			missing = append(missing, w)
		}
	}
	if len(left) > 0 && (len(left) >= min(replicas, len(k.live)) || left[0] != k.worker.config.id) {
		return false, false
	}
	waits = slices.ContainsFunc(missing, func(w string) bool { return !k.isGone(w) })
	return len(left) > 0 && !waits, waits
}

// isGone tells whether a worker has not answered for long enough.
func (k *keeper) isGone(worker string) bool {
	last, ok := k.seen[worker]
	if !ok {
		last = time.Now()
		k.seen[worker] = last
	}
	return time.Since(last) >= k.gone
}

// settle has r look at blocks of a sequence of the directory as it is now, and copy those that
// lack holders. It returns how many nobody holds.
func (w *Worker) settle(ctx context.Context, name string, e *wire.Entry, numbers []int, r *repair) (lost int, err error) {
	if r.client, err = newClient(w.conn, describe(name, e).Config); err != nil {
		return 0, err
	}
	s, err := r.client.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	for chunk := range slices.Chunk(numbers, perCommit) {
		left, err := r.settle(ctx, s, r.examine(ctx, s, chunk))
		if err != nil {
			return lost, err
		}
		for _, b := range left {
			if b.after == nil && !slices.ContainsFunc(b.causes, isBusy) {
				lost++
			}
		}
	}
	return lost, ctx.Err()
}

// Leave makes ready for the worker to end: it takes no more blocks, and other workers copy its
// blocks of sequences of the directory and take its place. Until [Worker.Close] it goes on
// answering. Blocks of sequences that are not in the directory stay: only the client that made such
// a sequence knows who holds what.
//
// The error is a [*BlocksError] of the blocks that no other worker took, an error of the directory,
// or the error of ctx. What could be copied is copied, and Leave may be called again.
func (w *Worker) Leave(ctx context.Context) error {
	if err := w.announce(); err != nil {
		return err
	}
	found, err := search(ctx, w.conn)
	if err != nil {
		return err
	}
	live, _ := choose(found)
	live = slices.DeleteFunc(live, func(x string) bool { return x == w.config.id })
	var errs []error
	err = w.bucket.each(ctx, w.conn, func(name string, e *wire.Entry, err error) {
		if err == nil {
			err = w.handOver(ctx, name, e, live)
		}
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, hub.ErrVersion) {
			errs = append(errs, err)
		}
	})
	if hasNoDirectory(err) {
		err = nil
	}
	return errors.Join(append(errs, err)...)
}

// announce tells programs that look for workers that this one takes no more blocks. Those that
// have not looked since are refused, see put.
func (w *Worker) announce() error {
	if w.leaving.Swap(true) {
		return nil
	}
	w.store.Refuse()
	var err error
	if w.notice, err = w.conn.Announce(service, "says that a worker leaves", map[string]string{nameKey: w.config.id, leaving: "true"}); err != nil {
		w.leaving.Store(false)
		return fmt.Errorf("shard: %w", err)
	}
	return w.conn.Flush()
}

// handOver copies the blocks of a sequence that this worker holds to others.
func (w *Worker) handOver(ctx context.Context, name string, e *wire.Entry, live []string) error {
	r := &repair{live: live, leaving: w.config.id}
	for range tries {
		var mine []int
		for i, holders := range e.Blocks {
			if slices.Contains(holders, w.config.id) {
				mine = append(mine, i)
			}
		}
		if len(mine) == 0 {
			return nil
		}
		if _, err := w.settle(ctx, name, e, mine, r); err != nil {
			return err
		}
		var err error
		if e, _, err = r.client.read(ctx, name); err != nil {
			return err
		}
	}
	var left lostBlocks
	for i, holders := range e.Blocks {
		if slices.Contains(holders, w.config.id) {
			left.add(name, i)
		}
	}
	return left.err([]error{errors.New("no other worker has taken them")})
}
