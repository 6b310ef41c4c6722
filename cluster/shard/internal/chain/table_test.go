package chain

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A state reaches its link whichever of them comes first, once.
func TestStates(t *testing.T) {
	x := New(100, time.Hour)
	for n, first := range []bool{true, false} {
		k := Key{Number: n}
		put := func() {
			for _, s := range []string{"state", "again"} {
				if err := x.Put(k, []byte(s)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if first {
			put()
		}
		end, err := x.Begin(k, 60)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Begin(k, 1); !errors.Is(err, ErrTwice) {
			t.Errorf("a link that comes twice: %v", err)
		}
		if !first {
			put()
		}
		if err := x.Works(k); err != nil {
			t.Error(err)
		}
		if s, err := x.Wait(t.Context(), k); string(s) != "state" || err != nil {
			t.Errorf("%q, %v", s, err)
		}
		end()
		if err := x.Works(k); !errors.Is(err, ErrUnknown) {
			t.Errorf("a link that is finished: %v", err)
		}
		if _, err := x.Begin(k, 1); !errors.Is(err, ErrTwice) {
			t.Errorf("a link that comes again after its end: %v", err)
		}
		if err := x.Put(k, []byte("late")); err != nil {
			t.Error(err)
		}
		if left, _ := x.Left(); left != 100 {
			t.Errorf("%d bytes are left of 100", left)
		}
	}
}

// What does not fit is refused, and nothing of it stays.
func TestFull(t *testing.T) {
	x := New(10, time.Hour)
	end, err := x.Begin(Key{Number: 1}, 8)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Begin(Key{Number: 2}, 3); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	for n := range 3 {
		if err := x.Put(Key{Number: n}, make([]byte, 3)); !errors.Is(err, ErrFull) {
			t.Errorf("state of link %d: %v", n, err)
		}
	}
	if left, links := x.Left(); left != 2 || links != 1 {
		t.Errorf("%d bytes are left, with %d links", left, links)
	}
	end()
	if _, err := x.Begin(Key{Number: 2}, 3); err != nil {
		t.Error(err)
	}
}

// A table has so many links at most, whatever their bytes; those that it has go on.
func TestMostLinks(t *testing.T) {
	x := New(10, time.Hour)
	x.most = 2
	end, err := x.Begin(Key{Number: 0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Put(Key{Number: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := x.Put(Key{Number: 2}, nil); !errors.Is(err, ErrFull) {
		t.Errorf("the end of a third chain: %v", err)
	}
	if _, err := x.Begin(Key{Number: 2}, 1); !errors.Is(err, ErrFull) {
		t.Errorf("a third link: %v", err)
	}
	if _, err := x.Wait(t.Context(), Key{Number: 2}); !errors.Is(err, ErrUnknown) {
		t.Errorf("waiting for a link that has not begun: %v", err)
	}
	if err := x.Put(Key{Number: 0}, []byte{1}); err != nil {
		t.Error(err)
	}
	if s, err := x.Wait(t.Context(), Key{Number: 0}); len(s) != 1 || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	end()
	if _, links := x.Left(); links != 2 {
		t.Errorf("%d links, want 2", links)
	}
}

// A link whose chain is given up, or whose time is over, waits no longer.
func TestGivenUp(t *testing.T) {
	x := New(10, time.Hour)
	for n, before := range []bool{true, false} {
		k := Key{Number: n}
		if before {
			x.Put(k, nil)
		}
		end, err := x.Begin(k, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !before {
			go x.Put(k, nil)
		}
		if _, err := x.Wait(t.Context(), k); !errors.Is(err, ErrGivenUp) {
			t.Error(err)
		}
		end()
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Begin(Key{Number: 2}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Wait(over, Key{Number: 2}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// States that nobody asks for, and the names of links that are finished, go.
func TestExpiry(t *testing.T) {
	x := New(10, time.Nanosecond)
	if err := x.Put(Key{Number: 1}, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	end, err := x.Begin(Key{Number: 2}, 4)
	if err != nil {
		t.Fatal(err)
	}
	end()
	for {
		if left, links := x.Left(); left == 10 && links == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
