package batch

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/tinyfolders"
)

// aheadStories returns requests of a model with a layer that guesses, which has room for so many
// pages. If right, most of its guesses are.
func aheadStories(t *testing.T, name string, right bool, pages, alike int) *stories {
	v := tinyfolders.Read(t, "../../testdata/tiny/"+name).AddAhead()
	if right {
		v.Circles(false)
	}
	x := newStoriesOf(t, v.Write(), alike, decoder.Options{MTP: true, Context: 1200})
	x.ahead = pages
	return x
}

// TestAhead: whatever the layer of the model guesses, answers are the same, with few pages of the
// model and of the layer, and with many. Where it says what the model will say, most guesses are
// right.
func TestAhead(t *testing.T) {
	for _, c := range []struct {
		name  string
		right bool
	}{{"glm4_moe-25", false}, {"qwen3_5_text-2", false}, {"deepseek_v3-31", true}} {
		for _, pages := range []int{24, 400} {
			for _, ahead := range []int{6, 500} {
				x := aheadStories(t, c.name, c.right, ahead, 200)
				s := x.scheduler(t, pages*x.m.Pages(1), func(o *Options) { o.Ahead = 3 })
				for range 2 {
					wait := x.submit(t, s)
					finish(t, s)
					wait()
				}
				stats := s.Stats()
				t.Logf("%s, %d and %d pages: %+v", c.name, pages, ahead, stats)
				if stats.Guessed == 0 || stats.Right > stats.Guessed || c.right && ahead > 100 && stats.Right < stats.Guessed*9/10 {
					t.Errorf("%s, %d and %d pages: %d of %d guesses are right", c.name, pages, ahead, stats.Right, stats.Guessed)
				}
				if pages == 24 && stats.Preempted == 0 || pages == 400 && stats.Shared == 0 {
					t.Errorf("%s, %d and %d pages: %d tokens were shared, %d requests preempted", c.name, pages, ahead, stats.Shared, stats.Preempted)
				}
				for s.tree.drop() {
				}
				if n := s.session.FreePages(); n != pages*x.m.Pages(1) {
					t.Errorf("%s: %d of %d pages are free in the end", c.name, n, pages)
				}
				if n := s.session.(*decoder.Session).FreeAhead(); n != ahead {
					t.Errorf("%s: %d of %d pages of the layer are free in the end", c.name, n, ahead)
				}
			}
		}
	}
}

// TestAheadPrefixes: where prefixes that are kept fill the layer's cache, they give their pages
// back, so that a new answer gets as many guesses as with an empty cache.
func TestAheadPrefixes(t *testing.T) {
	x := aheadStories(t, "deepseek_v3-31", true, 24, 40)
	s := x.scheduler(t, 400*x.m.Pages(1), func(o *Options) { o.Ahead = 3 })
	r := rand.New(rand.NewPCG(5, 6))
	answer := func() uint64 {
		before := s.Stats().Guessed
		submitOne(t, s, tokensOf(r, 200), 40)
		finish(t, s)
		return s.Stats().Guessed - before
	}
	want := answer()
	for i := range 4 {
		if got := answer(); want == 0 || got < want*3/4 {
			t.Errorf("answer %d has %d guesses, want most of %d", i, got, want)
		}
	}
}

// submitOne makes a request for an answer of so many tokens.
func submitOne(t *testing.T, s *Scheduler, prompt []int32, n int) {
	t.Helper()
	task := Task{
		Context: t.Context(), Prompt: prompt, Most: len(prompt) + n,
		Next: func(logits []float32, _ []int32) (int32, bool, error) { return choose(logits), false, nil },
		Done: func(err error) {
			if err != nil {
				t.Error(err)
			}
		},
	}
	if err := s.Submit(&task); err != nil {
		t.Fatal(err)
	}
}

// TestAheadShared: prefixes that a request shares keep what the layer has read of them while others
// can give something back, also where those were used later.
func TestAheadShared(t *testing.T) {
	x := aheadStories(t, "deepseek_v3-31", true, 100, 40)
	s := x.scheduler(t, 400*x.m.Pages(1), func(o *Options) { o.Ahead = 3 })
	r := rand.New(rand.NewPCG(5, 6))
	shared, other := tokensOf(r, 100), tokensOf(r, 100)
	for _, prompt := range [][]int32{shared, other} {
		submitOne(t, s, prompt, 10)
		finish(t, s)
	}
	submitOne(t, s, append(shared, 1, 2, 3), 30)
	for range 3 {
		s.step(t.Context())
	}
	late, _ := s.tree.find(other)
	s.tree.touch(late)
	idle, pinned := 0, 0
	for e := s.tree.order.Front(); e != nil; e = e.Next() {
		if n := e.Value.(*node); n.pins > 0 {
			pinned++
		} else if idle++; !s.closeAhead() {
			t.Fatalf("nothing is given back for prefix %d", idle)
		}
	}
	if idle == 0 || pinned == 0 {
		t.Fatalf("%d prefixes are shared by a request, %d by none", pinned, idle)
	}
	for e := s.tree.order.Front(); e != nil; e = e.Next() {
		if n := e.Value.(*node); n.text.CloseAhead() != (n.pins > 0) {
			t.Errorf("a prefix of %d pages that %d requests share is not as it should be", n.depth, n.pins)
		}
	}
	finish(t, s)
}

// TestAheadCanceled: requests whose contexts end, and those that fail, leave the others their
// answers and all pages.
func TestAheadCanceled(t *testing.T) {
	x := aheadStories(t, "deepseek_v3-31", true, 40, 200)
	s := x.scheduler(t, 60*x.m.Pages(1), func(o *Options) { o.Ahead = 3 })
	lost, ended := errors.New("lost"), 0
	for i, one := range x.all[:8] {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		task := Task{
			Context: ctx, Prompt: one.prompt, Most: len(one.prompt) + 60,
			Next: func(logits []float32, tokens []int32) (int32, bool, error) {
				if n := len(tokens) - len(one.prompt); n > 5+i {
					if i%2 == 0 {
						return 0, false, lost
					}
					cancel()
				}
				return choose(logits), false, nil
			},
			Done: func(err error) {
				if ended++; !errors.Is(err, []error{lost, context.Canceled}[i%2]) {
					t.Errorf("request %d: %v", i, err)
				}
			},
		}
		if err := s.Submit(&task); err != nil {
			t.Fatal(err)
		}
	}
	wait := x.submit(t, s)
	finish(t, s)
	wait()
	if stats := s.Stats(); ended != 8 || stats.Ended != 8 || stats.Right == 0 {
		t.Errorf("%d have ended: %+v", ended, stats)
	}
	for s.tree.drop() {
	}
	if n, layer := s.session.FreePages(), s.session.(*decoder.Session).FreeAhead(); n != 60*x.m.Pages(1) || layer != 40 {
		t.Errorf("%d of %d pages and %d of 40 of the layer are free in the end", n, 60*x.m.Pages(1), layer)
	}
}

// TestAheadSaved: answers are the same where pages that another program has saved are read, of
// which the layer knows nothing.
func TestAheadSaved(t *testing.T) {
	checkSaved(t, aheadStories(t, "glm4_moe-25", false, 100, 130))
	checkSaved(t, aheadStories(t, "deepseek_v3-31", true, 100, 130))
}
