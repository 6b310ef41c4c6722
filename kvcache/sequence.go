package kvcache

import (
	"fmt"
	"sync/atomic"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Sequence is a text in a [Cache]: the tokens whose keys and values are kept.
// Positions count all tokens of the text, from 0 on, even if the first ones have been
// dropped. The zero Sequence belongs to no cache, like one that has been freed.
type Sequence struct {
	cache  *Cache
	pages  []int32
	before [][]int32 // the lists that pages was, until it had no room: views may have them
	start  int       // position of the first token that is kept, a multiple of the page size
	length int       // position after the last
	fresh  int       // tokens of the last step
	first  int       // pages before the last ones that DropBetween has dropped

	// mayShare is true if other sequences may have the last page: then this one must copy
	// it before it writes there.
	mayShare atomic.Bool
	marked   bool // see Batch.checkTwice
}

// NewSequence returns a sequence without tokens.
func (c *Cache) NewSequence() *Sequence {
	if c.pageSize == 0 { // the zero Cache
		return new(Sequence)
	}
	return &Sequence{cache: c}
}

// Len returns the number of tokens of the sequence, including those that have been
// dropped at its start: the position of the next token.
func (s *Sequence) Len() int { return s.length }

// Start returns the position of the first token that has not been dropped.
func (s *Sequence) Start() int { return s.start }

// Pages returns the pages of the sequence in the order of its tokens, as in a
// [kernel.PageTable]. The slice belongs to the sequence: do not change it, and do not use
// it after the sequence has changed.
func (s *Sequence) Pages() []int32 { return s.pages }

// Fork returns a new sequence that consists of the first n tokens of s and shares their
// pages. If the last page is partly filled, whichever of the two grows first copies it. n
// is from Start to Len. With a window, the tokens that the query at position n sees must
// not have been dropped.
//
// Fork counts as reading s. Call it after all layers have stored the tokens.
func (s *Sequence) Fork(n int) (*Sequence, error) {
	if f := s.checkLength(n); f != nil {
		return nil, (*kernel.Error)(f.In("kvcache.Sequence.Fork"))
	}
	fork := &Sequence{cache: s.cache, start: s.start, first: s.first, length: n}
	fork.pages = append(fork.pages, s.pages[:s.pagesFor(n)]...)
	s.cache.pool.share(fork.pages)
	fork.mayShare.Store(true)
	s.mayShare.Store(true)
	return fork, nil
}

// Truncate drops the tokens from position n on, such as the rejected tokens of a draft. For a tree
// of drafts there is Keep. n has the limits of Fork.
func (s *Sequence) Truncate(n int) error {
	if f := s.checkLength(n); f != nil {
		return (*kernel.Error)(f.In("kvcache.Sequence.Truncate"))
	}
	if n < s.length {
		s.cut(n)
	}
	return nil
}

func (s *Sequence) cut(n int) {
	keep := s.pagesFor(n)
	s.release(keep)
	s.pages = s.pages[:keep]
	s.length, s.fresh = n, 0
	s.mayShare.Store(true) // the last page may be one that was full when it was shared
}

// release gives the pages from number keep on back. Views that have been made show it, as
// they share the lists.
func (s *Sequence) release(keep int) {
	s.cache.pool.release(s.pages[keep:])
	giveBack(s.pages, keep)
	for _, list := range s.before {
		giveBack(list, keep)
	}
}

// giveBack marks the pages from number keep on, also those that the list had when it was longer.
func giveBack(list []int32, keep int) {
	list = list[:cap(list)]
	for i := keep; i < len(list); i++ {
		list[i] = view.GivenBack
	}
}

// DropBefore drops those pages whose tokens all lie before position n, which is from Start to
// Len. It is for programs that decide themselves what is no longer needed. In a cache with
// a window, pages are dropped when a sequence grows.
func (s *Sequence) DropBefore(n int) error {
	if f := s.check("sequence"); f != nil {
		return (*kernel.Error)(f.In("kvcache.Sequence.DropBefore"))
	}
	if n < s.start || n > s.length {
		return &kernel.Error{Where: "kvcache.Sequence.DropBefore: n", Got: fmt.Sprint(n), Want: fmt.Sprintf("%d to %d", s.start, s.length)}
	}
	s.drop(0, n)
	return nil
}

// DropBetween is DropBefore for a sequence that keeps its first tokens, as attention sinks
// (StreamingLLM): pages with any of the first tokens that it has, as many as first says, are not
// dropped. n is from Start to the position of the first token of the last step.
//
// Attention then sees a text that begins at Start and lacks the dropped tokens: the first tokens
// count as if they stood right before the others. Stored keys keep their rotations. Fork and
// Truncate no longer cut among the first tokens.
//
// In a cache with a window, which hides them, it is an error.
func (s *Sequence) DropBetween(first, n int) error {
	f := s.check("sequence")
	switch {
	case f != nil:
	case s.cache.window > 0:
		f = &check.Failure{Where: "sequence", Got: fmt.Sprintf("one of a cache with a window of %d", s.cache.window), Want: "one of a cache without"}
	case first < 0:
		f = &check.Failure{Where: "first", Got: fmt.Sprint(first), Want: "at least 0"}
	case n < s.start || n > s.length-s.fresh:
		f = &check.Failure{Where: "n", Got: fmt.Sprint(n), Want: fmt.Sprintf("%d to %d", s.start, s.length-s.fresh)}
	}
	if f != nil {
		return (*kernel.Error)(f.In("kvcache.Sequence.DropBetween"))
	}
	s.drop(s.pagesFor(s.start+min(first, s.length-s.start)), n)
	return nil
}

// drop drops the pages from number from on whose tokens all lie before position n.
func (s *Sequence) drop(from, n int) {
	k := (n-s.start)/s.cache.pageSize - from
	if k <= 0 {
		return
	}
	s.cache.pool.release(s.pages[from : from+k])
	s.forget(from, k)
}

// forget takes k pages, from number from on, off the sequence, which no longer owns them.
func (s *Sequence) forget(from, k int) {
	s.pages = s.pages[:from+copy(s.pages[from:], s.pages[from+k:])]
	s.start += k * s.cache.pageSize
	s.first = max(from, s.first-k)
}

// Free gives the pages back. Afterwards, every call that the sequence, a batch with it or a
// view of it is passed to returns an error. To free a sequence again, or nil, does nothing.
func (s *Sequence) Free() {
	if s != nil && s.cache != nil {
		s.release(0)
		s.cache, s.pages, s.before, s.start, s.first, s.length, s.fresh = nil, nil, nil, 0, 0, 0, 0
	}
}

// check reports a sequence that has been freed or belongs to no cache.
func (s *Sequence) check(arg string) *check.Failure {
	if s == nil || s.cache == nil {
		return &check.Failure{Where: arg, Got: "nil, or a sequence that has been freed", Want: "one of NewSequence or Fork"}
	}
	return nil
}

// checkLength reports a length that the sequence cannot be cut to.
func (s *Sequence) checkLength(n int) *check.Failure {
	if f := s.check("sequence"); f != nil {
		return f
	}
	least := s.start + s.first*s.cache.pageSize
	if s.start > 0 {
		least += s.cache.window
	}
	if n < least && n != s.length || n > s.length {
		return &check.Failure{Where: "n", Got: fmt.Sprint(n), Want: fmt.Sprintf("%d to %d, for tokens from %d on", least, s.length, s.start)}
	}
	return nil
}

// pagesFor returns the number of pages that hold the sequence's tokens before position n.
func (s *Sequence) pagesFor(n int) int {
	size := s.cache.pageSize
	n -= s.start
	if n%size != 0 {
		return n/size + 1
	}
	return n / size
}

// firstFresh returns the index of the first token of the last step that is kept: some may have been
// dropped before they were stored.
func (s *Sequence) firstFresh() int { return max(0, s.start-(s.length-s.fresh)) }

// place returns where token l of the last step, which is kept, lies: in which page and row,
// and how many tokens of the step lie there from this one on.
func (s *Sequence) place(l int) (page, row, n int) {
	size := s.cache.pageSize
	at := s.length - s.fresh - s.start + l
	row = at % size
	return int(s.pages[at/size]), row, min(size-row, s.fresh-l)
}

// unseen returns the number of the first pages that no later query sees. The last page is
// none of them.
func (s *Sequence) unseen() int {
	if w := s.cache.window; w > 0 {
		return max(0, s.length-w-s.start) / s.cache.pageSize
	}
	return 0
}

// needs returns how many pages n more tokens take. If mayShare is set afterwards, one page is for a
// copy of the last page, which is partly filled and really shared.
func (s *Sequence) needs(n int) int {
	if n == 0 {
		return 0
	}
	pages := s.pagesFor(s.length+n) - len(s.pages)
	if s.mayShare.Load() {
		if (s.length-s.start)%s.cache.pageSize != 0 && s.cache.pool.isShared(s.pages[len(s.pages)-1]) {
			return pages + 1
		}
		s.mayShare.Store(false)
	}
	return pages
}

// grow makes room for n more tokens with the pages that they need, the first of taken,
// and returns the rest of taken.
func (s *Sequence) grow(n int, taken []int32) []int32 {
	if n > 0 && s.mayShare.Load() {
		s.copyLast(taken[0])
		taken = taken[1:]
	}
	k := s.pagesFor(s.length+n) - len(s.pages)
	if c := cap(s.pages); c > 0 && len(s.pages)+k > c {
		s.before = append(s.before, s.pages)
	}
	s.pages = append(s.pages, taken[:k]...)
	s.length, s.fresh = s.length+n, n
	return taken[k:]
}

// copyRows copies n tokens in all layers.
func (c *Cache) copyRows(to, from slot, n int) {
	for layer := range c.keys {
		copyRows(&c.keys[layer], to, from, n)
		copyRows(&c.values[layer], to, from, n)
	}
}

// copyLast replaces the last page, which others share, by a copy. Once it has been
// released, and not before, they may write to it.
func (s *Sequence) copyLast(page int32) {
	last := &s.pages[len(s.pages)-1]
	rows := (s.length - s.start) % s.cache.pageSize
	s.cache.copyRows(slot{page: int(page)}, slot{page: int(*last)}, rows)
	s.cache.pool.release(s.pages[len(s.pages)-1:])
	*last = page
	s.mayShare.Store(false)
}

// Keep drops the tokens of the last Extend but those whose numbers, counted from 0 in that step,
// are in tokens, in ascending order: such as the accepted tokens of a tree of drafts. Call it after
// all layers have stored them. The tokens that are kept move together, so that the sequence has the
// bits of a sequence that never had the others. If keys are rotated, the program must have rotated
// the kept ones by the positions that they then have. As after Truncate, the last step is over.
//
// No token of the step may have been dropped by DropBefore.
//
// Pages that the tokens move to and other sequences share are replaced by copies first. If too few
// pages are free for them, Keep returns a [*CapacityError] and changes nothing.
func (s *Sequence) Keep(tokens []int) error {
	if f := s.checkKeep(tokens); f != nil {
		return (*kernel.Error)(f.In("kvcache.Sequence.Keep"))
	}
	n := 0 // that stay where they are
	for n < len(tokens) && tokens[n] == n {
		n++
	}
	step := s.length - s.fresh
	if n < len(tokens) {
		if err := s.own(step+n, step+len(tokens)); err != nil {
			return err
		}
	}
	for ; n < len(tokens); n++ { // one at a time: the values of a layer may be a part of its keys
		s.cache.copyRows(s.slot(step+n), s.slot(step+tokens[n]), 1)
	}
	if s.fresh > 0 {
		s.cut(step + len(tokens))
	}
	return nil
}

// checkKeep reports tokens that are not in ascending order, or not tokens of the last step.
func (s *Sequence) checkKeep(tokens []int) *check.Failure {
	if f := s.check("sequence"); f != nil {
		return f
	}
	least := 0
	for i, r := range tokens {
		if r < least || r >= s.fresh {
			return &check.Failure{Where: "tokens", Got: fmt.Sprintf("%d as number %d", r, i), Want: fmt.Sprintf("ascending numbers of the last step's tokens, here %d to %d", least, s.fresh-1)}
		}
		least = r + 1
	}
	if step := s.length - s.fresh; s.start > step {
		return &check.Failure{Where: "sequence", Got: fmt.Sprintf("one whose tokens before position %d have been dropped", s.start), Want: fmt.Sprintf("all tokens of the last step, from position %d on", step)}
	}
	return nil
}

// slot returns where the token at a position lies.
func (s *Sequence) slot(at int) slot {
	at -= s.start
	return slot{page: int(s.pages[at/s.cache.pageSize]), row: at % s.cache.pageSize}
}

// own replaces those pages of the tokens at positions from to to-1 by copies that other sequences
// share.
func (s *Sequence) own(from, to int) error {
	if !s.mayShare.Load() {
		return nil
	}
	var shared []*int32
	pages := s.pages[:s.pagesFor(to)]
	for i := (from - s.start) / s.cache.pageSize; i < len(pages); i++ {
		if s.cache.pool.isShared(pages[i]) {
			shared = append(shared, &pages[i])
		}
	}
	taken, err := s.cache.pool.take("kvcache.Sequence.Keep", nil, len(shared))
	if err != nil {
		return err
	}
	for i, page := range shared {
		s.cache.copyRows(slot{page: int(taken[i])}, slot{page: int(*page)}, s.cache.pageSize)
		s.cache.pool.release([]int32{*page})
		*page = taken[i]
	}
	return nil
}
