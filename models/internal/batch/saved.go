package batch

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/promptcache"
)

// Pages that the tree keeps are written to the cache of pages behind the answers, one in a step. A
// prompt that begins reads its pages from there, one in a step, while others compute. A task that
// still reads some computes nothing. A page whose windows were dropped for lack of pages before it
// was written is not saved, nor read are those behind it: a prompt is computed from there on, and
// the page is saved when a text keeps it.

// lastWrites is how long pages are written after the end.
const lastWrites = 20 * time.Second

// exchange moves pages to and from the cache, and tells whether it has moved any.
func (s *Scheduler) exchange() (moved bool) {
	if s.o.Saved == nil || s.tree == nil { // there is no session after a panic if no new one opens
		return false
	}
	moved = !s.writer.Full() && s.save()
	for _, t := range s.running {
		moved = s.load(t) || moved
	}
	return moved
}

// save has the next page of the tree written that is still there, and tells whether there was one.
func (s *Scheduler) save() bool {
	for len(s.tree.fresh) > 0 {
		n := s.tree.fresh[0]
		s.tree.fresh = s.tree.fresh[1:]
		if n.gone {
			continue
		}
		end := n.depth * s.o.Page
		data, err := n.text.Save(nil, end-s.o.Page, end)
		if err != nil { // keys that are to be computed again
			continue
		}
		s.writer.Put(promptcache.Page{Key: s.keyOf(n), Data: data})
		return true
	}
	return false
}

// keyOf returns the key of a page. It keeps it, as the next page's key goes on from it.
func (s *Scheduler) keyOf(n *node) promptcache.Key {
	if n.parent == nil {
		return s.o.Saved.First
	}
	if n.saved == (promptcache.Key{}) {
		n.saved = s.keyOf(n.parent).Next(n.tokens())
	}
	return n.saved
}

// tokens returns the tokens of the page.
func (n *node) tokens() []int32 {
	tokens := make([]int32, len(n.key)/4)
	for i := range tokens {
		tokens[i] = int32(binary.LittleEndian.Uint32([]byte(n.key[4*i:])))
	}
	return tokens
}

// writeRest writes what is left when the scheduler ends.
func (s *Scheduler) writeRest() {
	for end := time.Now().Add(lastWrites); s.tree != nil && time.Now().Before(end) && s.save(); {
	}
	s.writer.Close()
}

// ahead begins to read the pages of a task that the tree does not have.
func (s *Scheduler) ahead(t *Task) {
	pages := (len(t.tokens) - 1) / s.o.Page // one token must be computed
	if s.o.Saved != nil && !t.reads() && pages > t.done/s.o.Page {
		first := t.done / s.o.Page
		t.reader = s.o.Saved.Ahead(t.Context, t.tokens[:pages*s.o.Page], first, s.rouse)
		t.loaded = span{first * s.o.Page, first * s.o.Page}
	}
}

// load gives a task the next page that was read for it, and tells whether something came.
func (s *Scheduler) load(t *Task) bool {
	if t.reader == nil {
		return false
	}
	page, more := t.reader.Take()
	if page == nil && more {
		return false
	}
	if page != nil {
		err := s.loadPage(t, page)
		if err == nil {
			return true
		}
		if full := new(kvcache.CapacityError); !errors.As(err, &full) && err != errAgain {
			s.o.Saved.Discard(t.Context, page.Key, page.Data, err)
		}
	}
	t.stopReading()
	if n := t.text.Checkpoint(t.text.Len()); t.text.Truncate(n) == nil { // what recurrent layers would read again is read in chunks
		t.done = n
	}
	return true
}

// errAgain says that a text is to read tokens again that stand before a page, as it has dropped a
// window there.
var errAgain = errors.New("batch: a window is gone")

// loadPage adds a page to the text of a task, in place of a part of it that the text may have.
func (s *Scheduler) loadPage(t *Task, page *promptcache.Page) error {
	begin := page.Key.Depth() * s.o.Page
	if err := t.text.Truncate(begin); err != nil {
		return err
	}
	t.done = begin
	if _, err := t.text.Save(nil, begin, begin); err != nil {
		return errAgain
	}
	err := t.text.Load(page.Tokens, page.Data)
	if full := new(kvcache.CapacityError); errors.As(err, &full) {
		for range full.Need - full.Free {
			s.tree.drop()
		}
		err = t.text.Load(page.Tokens, page.Data)
	}
	if err != nil {
		return err
	}
	t.done = t.text.Len()
	t.loaded.end = t.done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Loaded += uint64(len(page.Tokens))
	return nil
}

// stopReading lets the task compute what it has not read.
func (t *Task) stopReading() {
	if t.reader != nil {
		t.reader.Stop()
		t.reader = nil
	}
}

// computes tells whether a task has read all pages that there are.
func (s *Scheduler) computes() bool {
	for _, t := range s.running {
		if t.reader == nil {
			return true
		}
	}
	return false
}

// writing begins to write pages.
func (s *Scheduler) writing(ctx context.Context) (end func()) {
	if s.o.Saved == nil {
		return func() {}
	}
	s.writer = s.o.Saved.Behind(context.WithoutCancel(ctx), s.rouse)
	return s.writeRest
}
