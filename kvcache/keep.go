package kvcache

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/kernel"
)

// Keep drops the tokens of the last Extend but those whose numbers, counted from 0 in that step, are in tokens, in
// ascending order: such as the accepted ones of a tree of drafts. Call it after all layers have stored them. The tokens
// that are kept move together, so that the sequence has the bits of one that never had the others. If keys are rotated,
// the program must have rotated those by the positions that they then have. As after Truncate, the last step is over.
//
// No token of the step may have been dropped by DropBefore.
//
// Pages that the tokens move to and other sequences share are replaced by copies first. If too few pages are free for
// them, Keep returns a [*CapacityError] and changes nothing.
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

// own replaces those pages of the tokens at positions from to to-1 by copies that other sequences share.
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
