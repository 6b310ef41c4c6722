package kvcache

import (
	"errors"
	"slices"
	"testing"
)

// Pages are taken in order, those released last first, so that the pages of a sequence
// are neighbours.
func TestPoolOrder(t *testing.T) {
	p := newPagePool(8)
	take := func(n int, want ...int32) []int32 {
		t.Helper()
		got, err := p.take("", nil, n)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got pages %v, %v; want %v", got, err, want)
		}
		return got
	}
	a := take(3, 0, 1, 2)
	b := take(2, 3, 4)
	p.release(a)
	take(4, 0, 1, 2, 5)
	p.release(b)
	take(1, 3)
	if n := p.left(); n != 3 {
		t.Errorf("%d pages are left, want 3", n)
	}
}

// A page is free when all sequences that share it have released it.
func TestPoolShares(t *testing.T) {
	p := newPagePool(4)
	pages, _ := p.take("", nil, 2)
	p.share(pages[:1])
	if !p.isShared(pages[0]) || p.isShared(pages[1]) {
		t.Errorf("shared: %v, %v; want the first page alone", p.isShared(pages[0]), p.isShared(pages[1]))
	}
	p.release(pages)
	if p.left() != 3 || p.isShared(pages[0]) {
		t.Errorf("%d pages are left after one of two owners has gone, want 3", p.left())
	}
	p.release(pages[:1])
	if p.left() != 4 {
		t.Errorf("%d pages are left, want all 4", p.left())
	}
}

// A pool with too few pages gives none.
func TestPoolIsExhausted(t *testing.T) {
	p := newPagePool(3)
	before := []int32{7}
	got, err := p.take("", before, 4)
	var full *CapacityError
	if !errors.As(err, &full) || *full != (CapacityError{Need: 4, Free: 3}) || !slices.Equal(got, before) || p.left() != 3 {
		t.Errorf("got %v, %v with %d pages left", got, err, p.left())
	}
}
