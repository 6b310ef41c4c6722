package batch

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/promptcache"
)

// A shelf is a backend in memory.
type shelf struct {
	mu      sync.Mutex
	objects map[promptcache.Key][]byte
}

func (s *shelf) Get(_ context.Context, k promptcache.Key) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[k]; o != nil {
		return bytes.Clone(o), nil
	}
	return nil, fs.ErrNotExist
}

func (s *shelf) Put(_ context.Context, k promptcache.Key, object []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[k] = object
	return nil
}

func (s *shelf) Remove(_ context.Context, k promptcache.Key, object []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Equal(s.objects[k], object) {
		delete(s.objects, k)
	}
	return nil
}

// TestSavedPages: a program that begins with the pages of another one gives the same answers, with
// room for all and for few, and reads little of the prompts. So it does if some pages are damaged,
// which are gone then.
func TestSavedPages(t *testing.T) {
	for _, name := range []string{"llama-2", "deepseek_v3-31", "gemma2-2", "lfm2-1", "qwen3_5_text-2", "granitemoehybrid-41"} {
		t.Run(name, func(t *testing.T) { checkSaved(t, newStories(t, "../../testdata/tiny/"+name, 130, 1200)) })
	}
}

// runSaved has all stories answered by a program with so many pages, which begins with what is on
// the shelf.
func (x *stories) runSaved(t *testing.T, store *shelf, pages int) (Stats, promptcache.Stats) {
	t.Helper()
	cache := promptcache.New(store, slog.New(slog.DiscardHandler))
	saved := &promptcache.Pages{Cache: cache, First: promptcache.First(x.m.StateFingerprint(""), storyPage), Size: storyPage}
	s := x.scheduler(t, pages, func(o *Options) { o.Saved, o.Ahead = saved, min(x.ahead, 2) })
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	x.submit(t, s)()
	stop()
	running.Wait()
	return s.Stats(), cache.Stats()
}

// TestSavedWindows: where windows are dropped because pages lack, less is saved, and what is saved
// is read back, also with too few pages for texts that drop nothing. Answers are the same. How much
// is saved before it is dropped is a matter of time.
func TestSavedWindows(t *testing.T) {
	for _, name := range []string{"gemma2-2", "mistral-2", "gemma4-67"} {
		x := newStories(t, "../../testdata/tiny/"+name, 900, 1600)
		few, _ := x.few()
		for _, pages := range [][]int{{40 * few, few, 40 * few}, {few, few, 40 * few}} {
			store := &shelf{objects: map[promptcache.Key][]byte{}}
			for i, n := range pages {
				saved := x.firstSaved(store)
				stats, cache := x.runSaved(t, store, n)
				t.Logf("%s, %d pages: %+v, %+v, %d saved", name, n, stats, cache, len(store.objects))
				if cache.Damaged != 0 || cache.Failed != 0 || i > 0 && (pages[0] > few || n > few && saved) && stats.Loaded == 0 {
					t.Errorf("%s, %d pages after %v: %+v, %+v", name, n, pages[:i], stats, cache)
				}
			}
		}
	}
}

// firstSaved tells whether the shelf has the first page of a prompt that is longer.
func (x *stories) firstSaved(store *shelf) bool {
	pages := promptcache.Pages{First: promptcache.First(x.m.StateFingerprint(""), storyPage), Size: storyPage}
	return slices.ContainsFunc(x.all, func(one *story) bool {
		return len(one.prompt) > storyPage && store.objects[pages.Key(one.prompt[:storyPage])] != nil
	})
}

func checkSaved(t *testing.T, x *stories) {
	store := &shelf{objects: map[promptcache.Key][]byte{}}
	run := func(pages int) (Stats, promptcache.Stats) {
		t.Helper()
		return x.runSaved(t, store, pages*x.m.Pages(1))
	}
	_, wrote := run(300)
	if wrote.Written == 0 || wrote.Damaged != 0 || wrote.Failed != 0 {
		t.Errorf("first: %+v", wrote)
	}
	all := len(store.objects)
	for _, pages := range []int{300, 40, 16} {
		again, cache := run(pages)
		t.Logf("%d pages: %+v, %+v", pages, again, cache)
		if again.Loaded == 0 || cache.Damaged != 0 || cache.Failed != 0 || len(store.objects) != all {
			t.Errorf("%d pages: %+v, %+v, %d objects, want the %d of before", pages, again, cache, len(store.objects), all)
		}
	}
	// Alone, a request reads what lies behind the last whole page, or the last state.
	requests := x.all
	for _, x.all = range slices.Collect(slices.Chunk(requests, 1)) {
		prompt := x.all[0].prompt
		session := x.open(t, 16*x.m.Pages(1))
		text := session.NewText()
		if _, err := session.Forward(t.Context(), decoder.Step{Text: text, Tokens: prompt}); err != nil {
			t.Fatal(err)
		}
		want := len(prompt) - text.Checkpoint((len(prompt)-1)/storyPage*storyPage)
		if stats, _ := run(300); stats.Read != uint64(want) {
			t.Errorf("%d tokens of a prompt of %d were read, want %d", stats.Read, len(prompt), want)
		}
	}
	x.all = requests
	damaged := 0
	for k, o := range store.objects {
		if damaged++; damaged%3 == 0 {
			o[len(o)/2] ^= 1
		} else if damaged%3 == 1 {
			store.objects[k] = o[:len(o)/2]
		}
	}
	if _, cache := run(300); cache.Damaged == 0 {
		t.Errorf("with damaged pages: %+v", cache)
	}
	if len(store.objects) != all {
		t.Errorf("%d pages are there of %d, want new ones in place of those that were damaged", len(store.objects), all)
	}
	// A page whose bytes are whole, but not of this model: it has the right hash and the wrong
	// length.
	for k := range store.objects {
		store.objects[k] = nil
		promptcache.New(store, slog.New(slog.DiscardHandler)).Put(t.Context(), k, []byte("short"))
	}
	if _, cache := run(300); cache.Damaged == 0 {
		t.Errorf("with pages of another length: %+v", cache)
	}
}

// TestSavedWithoutSession: if no new session opens after a panic, the scheduler has nothing to do,
// with a cache of pages as without.
func TestSavedWithoutSession(t *testing.T) {
	f := newFake(t, 20, 4)
	f.fail = func(int) error { panic("lost") }
	lost := errors.New("no session")
	session := Session(f)
	cache := promptcache.New(&shelf{objects: map[promptcache.Key][]byte{}}, slog.New(slog.DiscardHandler))
	s, err := New(Options{
		Open: func() (Session, error) {
			if session == nil {
				return nil, lost
			}
			first := session
			session = nil
			return first, nil
		},
		Pages: 20, Page: 4, Running: 8, Step: 64, Chunk: 16, Waiting: 10, PerKey: 10,
		Saved: &promptcache.Pages{Cache: cache, First: promptcache.First("", 4), Size: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.writing(t.Context())()
	ended := false
	task := &Task{Context: t.Context(), Prompt: []int32{1, 2}, Most: 5, Done: func(error) { ended = true }}
	if err := s.Submit(task); err != nil {
		t.Fatal(err)
	}
	for !ended {
		s.step(t.Context())
	}
	if s.step(t.Context()) || s.Stats().Panics != 1 {
		t.Errorf("%+v, want one panic, and no work behind it", s.Stats())
	}
}
