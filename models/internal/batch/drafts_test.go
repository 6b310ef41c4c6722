package batch

import (
	"math/rand/v2"
	"testing"

	"github.com/attn-go/attn/models/decoder"
)

// TestDrafts: whatever a draft model guesses, answers are the same, with few pages and with many.
// Drafts of the same model are right as long as they are read in time.
func TestDrafts(t *testing.T) {
	for name, draft := range map[string]string{"mistral-2": "gemma2-2", "gpt_oss-32": "mistral-2", "qwen3_5_text-2": "qwen3_5_moe_text-41"} {
		x := newStories(t, "../../testdata/tiny/"+name, 300, 1200)
		other, err := decoder.Load("../../testdata/tiny/"+draft, decoder.Options{PageSize: storyPage, Context: 250})
		if err == nil {
			err = x.m.CheckDraft(other)
		}
		if err != nil {
			t.Fatal(err)
		}
		for by, draft := range map[string]*decoder.Model{"itself": x.m, "another": other} {
			for _, pages := range []int{30, 400} {
				checkDrafts(t, name+" by "+by, x, draft, pages)
			}
		}
	}
}

func checkDrafts(t *testing.T, what string, x *stories, draft *decoder.Model, pages int) {
	s := x.scheduler(t, pages*x.m.Pages(1), func(o *Options) {
		o.Draft = &Draft{Open: func() (*decoder.Session, error) { return draft.NewSession(pages, storyPage) }, Page: storyPage, Context: draft.Options().Context, Most: 3}
	})
	for range 2 {
		wait := x.submit(t, s)
		finish(t, s)
		wait()
	}
	stats := s.Stats()
	t.Logf("%s, %d pages: %+v", what, pages, stats)
	if stats.Guessed == 0 || stats.Right > stats.Guessed || draft == x.m && pages > 100 && stats.Right < stats.Guessed/2 {
		t.Errorf("%s, %d pages: %d of %d guesses are right", what, pages, stats.Right, stats.Guessed)
	}
	answered := 0
	for _, one := range x.all {
		answered += len(one.got)
	}
	if stats.Preempted == 0 && stats.Generated != uint64(2*answered) {
		t.Errorf("%s, %d pages: %d tokens are counted of %d", what, pages, stats.Generated, 2*answered)
	}
	for s.tree.drop() {
	}
	for s.drafts.tree.drop() {
	}
	if main, drafts := s.session.FreePages(), s.drafts.session.FreePages(); main != pages*x.m.Pages(1) || drafts != pages*draft.Pages(1) {
		t.Errorf("%s, %d pages: %d and %d are free in the end", what, pages, main, drafts)
	}
}

// TestDraftsOfLongText: a text that the draft model's cache does not hold takes no guesses from
// others.
func TestDraftsOfLongText(t *testing.T) {
	x := newStories(t, "../../testdata/tiny/mistral-2", 300, 1200)
	guessed := func(pages int, prompts ...int) uint64 {
		s := x.scheduler(t, 400, func(o *Options) {
			o.Draft = &Draft{Open: func() (*decoder.Session, error) { return x.m.NewSession(pages, storyPage) }, Page: storyPage, Context: 1200, Most: 3}
			o.Chunk = 64
		})
		r := rand.New(rand.NewPCG(1, 2))
		for _, n := range prompts {
			submitOne(t, s, tokensOf(r, n), 140)
		}
		finish(t, s)
		for s.drafts.tree.drop() {
		}
		if free := s.drafts.session.FreePages(); free != pages {
			t.Errorf("%d of %d pages are free in the end", free, pages)
		}
		return s.Stats().Guessed
	}
	want := guessed(40, 20, 20)
	if got := guessed(40, 700, 20, 20); want == 0 || got < want*3/4 {
		t.Errorf("beside a long text there are %d guesses, want most of %d", got, want)
	}
}
