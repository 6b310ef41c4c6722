package ondemand

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/attn-go/attn/kernel"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// newPool returns a pool of 10 bytes with items of some sizes, which note what happens to them.
func newPool(t *testing.T, sizes ...int64) (p *Pool[int], items []*Item[int], log func() []string) {
	t.Helper()
	p = New[int](10)
	var mu sync.Mutex
	var list []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, fmt.Sprintf(format, args...))
	}
	for n, size := range sizes {
		i, err := p.Add(size, func() (int, error) { note("+%d", n); return n, nil }, func(v int) { note("-%d", v) })
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, i)
	}
	return p, items, func() []string {
		mu.Lock()
		defer mu.Unlock()
		now := list
		list = nil
		return now
	}
}

// use uses an item for a moment.
func use(t *testing.T, i *Item[int]) {
	t.Helper()
	_, release, err := i.Use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release()
	release() // a second call changes nothing
}

// TestPanic: a panic while an item is loaded reaches who has asked for it, and the pool goes on.
func TestPanic(t *testing.T) {
	p := New[int](10)
	fails := true
	i, err := p.Add(10, func() (int, error) {
		if fails {
			panic("no memory")
		}
		return 1, nil
	}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() != "no memory" {
				t.Error("no panic")
			}
		}()
		_, _, _ = i.Use(t.Context())
	}()
	fails = false
	use(t, i)
	p.Close()
}

// TestOrder: items are loaded once, and the one that was used least recently goes.
func TestOrder(t *testing.T) {
	p, items, log := newPool(t, 4, 4, 4, 10)
	for _, n := range []int{0, 1, 0, 2, 0, 1, 3} {
		use(t, items[n])
	}
	if got, want := log(), []string{"+0", "+1", "-1", "+2", "-2", "+1", "-0", "-1", "+3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if v, ok := items[3].Loaded(); v != 3 || !ok {
		t.Errorf("the last one: %d, %v", v, ok)
	}
	if _, ok := items[0].Loaded(); ok {
		t.Error("the first one is loaded")
	}
	p.Close()
	if got := log(); !slices.Equal(got, []string{"-3"}) || p.bytes != 0 {
		t.Errorf("closed: %q, %d bytes", got, p.bytes)
	}
	if _, _, err := items[0].Use(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := p.Add(11, nil, nil); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("an item that never fits: %v", err)
	}
}

// TestInUse: what is in use stays, who needs its room waits, and who asks for it meanwhile waits
// until the other one had its turn.
func TestInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, items, log := newPool(t, 6, 6, 2)
		_, release, err := items[0].Use(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for _, n := range []int{1, 0} {
			work.Go(func() { use(t, items[n]) })
			synctest.Wait()
		}
		if got := log(); !slices.Equal(got, []string{"+0"}) {
			t.Fatalf("while the first one is in use: %q", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, _, err := items[2].Use(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("who does not wait: %v", err)
		}
		release()
		work.Wait()
		if got, want := log(), []string{"-0", "+1", "-1", "+0"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		p.Close()
	})
}

// TestFailing: an error of loading goes to the caller, and leaves the room free.
func TestFailing(t *testing.T) {
	p := New[int](10)
	lost := errors.New("lost")
	i, err := p.Add(10, func() (int, error) { return 0, lost }, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := i.Use(t.Context()); err != lost || p.bytes != 0 {
			t.Errorf("%v, %d bytes", err, p.bytes)
		}
	}
	p.Close()
}

// TestMany: whoever uses an item has it, never more than fits is loaded, and all come to an end.
func TestMany(t *testing.T) {
	p := New[*atomic.Bool](10)
	var items []*Item[*atomic.Bool]
	var bytes atomic.Int64
	for _, size := range []int64{2, 3, 4, 5, 6} {
		i, err := p.Add(size, func() (*atomic.Bool, error) {
			if bytes.Add(size) > 10 {
				t.Error("too much is loaded")
			}
			v := new(atomic.Bool)
			v.Store(true)
			return v, nil
		}, func(v *atomic.Bool) { v.Store(false); bytes.Add(-size) })
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, i)
	}
	var work sync.WaitGroup
	for n := range uint64(8) {
		work.Go(func() {
			r := rand.New(rand.NewPCG(n, 1))
			for range 200 {
				v, release, err := items[r.IntN(len(items))].Use(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				for range r.IntN(20) {
					if !v.Load() {
						t.Error("a value is unloaded while it is used")
					}
				}
				release()
			}
		})
	}
	work.Wait()
	p.Close()
	if n := bytes.Load(); n != 0 {
		t.Errorf("%d bytes are loaded in the end", n)
	}
}
