package kernel

import (
	"fmt"
	"sync/atomic"
)

// A Sequence is a text in a [Cache]: the tokens whose keys and values are kept.
// Positions are those of the text, from 0 on, also when its beginning has been dropped. The zero
// Sequence belongs to no cache and is as good as a freed one.
type Sequence struct {
	cache  *Cache
	pages  []int32
	start  int // position of the first token that is kept, a multiple of the page size
	length int // position after the last
	fresh  int // tokens of the last step

	// mayShare tells that other sequences may have the last page, and that this one
	// then has to leave it to them before it writes there.
	mayShare atomic.Bool
	marked   bool // see checkTwice
}

// NewSequence returns a sequence without tokens.
func (c *Cache) NewSequence() *Sequence {
	if c.pageSize == 0 { // the zero Cache
		return new(Sequence)
	}
	return &Sequence{cache: c}
}

// Len returns the number of tokens of the sequence, those included that have been
// dropped: the position of the next one.
func (s *Sequence) Len() int { return s.length }

// Start returns the position of the first token that has not been dropped.
func (s *Sequence) Start() int { return s.start }

// Pages returns the pages of the sequence, in order, as in a [PageTable]. They are the
// sequence's own: not to be changed, and valid until it changes.
func (s *Sequence) Pages() []int32 { return s.pages }

// Fork returns a new sequence that begins with the first n tokens of s. It shares
// their pages; whichever of the two grows first copies the last one, if that is
// partly filled. n is from Start to Len, and with a window no token that the next
// query sees has been dropped. It counts as reading s, and it should not
// happen before all layers have stored the tokens.
func (s *Sequence) Fork(n int) (*Sequence, error) {
	if err := s.checkLength(n); err != nil {
		return nil, err
	}
	f := &Sequence{cache: s.cache, start: s.start, length: n}
	f.pages = append(f.pages, s.pages[:s.pagesFor(n)]...)
	s.cache.pool.share(f.pages)
	f.mayShare.Store(true)
	s.mayShare.Store(true)
	return f, nil
}

// Truncate drops the tokens from position n on, such as those that a draft got
// wrong. For n the same holds as for Fork.
func (s *Sequence) Truncate(n int) error {
	if err := s.checkLength(n); err != nil {
		return err
	}
	if n < s.length {
		s.cut(n)
	}
	return nil
}

func (s *Sequence) cut(n int) {
	keep := s.pagesFor(n)
	s.cache.pool.release(s.pages[keep:])
	s.pages = s.pages[:keep]
	s.length, s.fresh = n, 0
	s.mayShare.Store(true) // the last page may be one that was full when it was shared
}

// Drop drops whole pages of tokens before position n, from Start to Len, as far as there
// are any. It is for programs that decide by themselves what is not needed any
// longer; a cache with a window does it when a sequence grows.
func (s *Sequence) Drop(n int) error {
	if err := s.check("sequence"); err != nil {
		return err
	}
	if n < s.start || n > s.length {
		return &ArgumentError{"n", fmt.Sprint(n), fmt.Sprintf("%d to %d", s.start, s.length)}
	}
	s.drop(n)
	return nil
}

func (s *Sequence) drop(n int) {
	k := (n - s.start) / s.cache.pageSize
	if k <= 0 {
		return
	}
	s.cache.pool.release(s.pages[:k])
	s.pages = s.pages[:copy(s.pages, s.pages[k:])]
	s.start += k * s.cache.pageSize
}

// Free gives the pages back. The sequence is of no use afterwards: it gets errors
// from all that it is passed to.
func (s *Sequence) Free() {
	if s.cache != nil {
		s.cache.pool.release(s.pages)
		s.cache, s.pages, s.start, s.length, s.fresh = nil, nil, 0, 0, 0
	}
}

// check reports a sequence that is of no use.
func (s *Sequence) check(arg string) error {
	if s == nil || s.cache == nil {
		return &ArgumentError{arg, "nil, or a sequence that has been freed", "one of NewSequence or Fork"}
	}
	return nil
}

// checkLength reports a length that the sequence cannot be cut to.
func (s *Sequence) checkLength(n int) error {
	if err := s.check("sequence"); err != nil {
		return err
	}
	least := s.start
	if s.start > 0 {
		least += s.cache.window
	}
	if n < least && n != s.length || n > s.length {
		return &ArgumentError{"n", fmt.Sprint(n), fmt.Sprintf("%d to %d, for tokens from %d on", least, s.length, s.start)}
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

// dropUnseen drops what no query to come sees.
func (s *Sequence) dropUnseen() {
	if w := s.cache.window; w > 0 {
		s.drop(s.length - w)
	}
}

// needs returns how many pages n more tokens take. One of them is to be a copy of the last page
// if mayShare is set afterwards: then others really have it, and it is partly filled.
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

// grow makes room for n more tokens with the pages that they need, the first of those taken,
// and returns the others.
func (s *Sequence) grow(n int, taken []int32) []int32 {
	if n > 0 && s.mayShare.Load() {
		s.copyLast(taken[0])
		taken = taken[1:]
	}
	k := s.pagesFor(s.length+n) - len(s.pages)
	s.pages = append(s.pages, taken[:k]...)
	s.length, s.fresh = s.length+n, n
	return taken[k:]
}

// copyLast puts a copy in the place of the last page, which others have too. They may write to
// it as soon as it has been released, and not before.
func (s *Sequence) copyLast(page int32) {
	last := &s.pages[len(s.pages)-1]
	rows := (s.length - s.start) % s.cache.pageSize
	for layer := range s.cache.keys {
		s.cache.keys[layer].copyPage(int(page), int(*last), rows)
		s.cache.values[layer].copyPage(int(page), int(*last), rows)
	}
	s.cache.pool.release(s.pages[len(s.pages)-1:])
	*last = page
	s.mayShare.Store(false)
}
