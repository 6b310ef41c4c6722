package batch

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/models/decoder"
)

// TestStatesDoNotDependOnLoad: the answers of a model whose layers carry states are the same alone
// and beside others, whose prompts begin alike, with few pages and in small chunks.
func TestStatesDoNotDependOnLoad(t *testing.T) {
	for _, name := range []string{"lfm2-1", "qwen3_5_text-2", "nemotron_h-41"} {
		t.Run(name, func(t *testing.T) { checkStates(t, newStories(t, "../../testdata/tiny/"+name, 130, 0), 16, 40, 200) })
	}
}

// storyPage is the tokens of a page in stories.
const storyPage = 16

// Stories are requests of a real model, with their answers alone.
type stories struct {
	m     *decoder.Model
	all   []*story
	ahead int // texts for which the layer that guesses has room, 0 without it
}

type story struct {
	prompt    []int32
	n         int
	got, want []int32
}

func choose(logits []float32) int32 { return int32(slices.Index(logits, slices.Max(logits))) }

// newStories returns requests of the model of a folder, many of which begin alike, with up to so
// many tokens.
func newStories(t *testing.T, folder string, alike, context int) *stories {
	return newStoriesOf(t, folder, alike, decoder.Options{Context: context})
}

func newStoriesOf(t *testing.T, folder string, alike int, o decoder.Options) *stories {
	o.PageSize = storyPage
	m, err := decoder.Load(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	x := &stories{m: m}
	r := rand.New(rand.NewPCG(3, 4))
	begin := [][]int32{tokensOf(r, alike), tokensOf(r, 40)}
	for range 24 {
		prefix := begin[r.IntN(2)]
		one := &story{prompt: slices.Concat(prefix[:r.IntN(len(prefix)+1)], tokensOf(r, 1+r.IntN(40))), n: 1 + r.IntN(60)}
		s := x.open(t, (alike+120)/storyPage*m.Pages(1))
		text := s.NewText()
		next := one.prompt
		for range one.n {
			logits, err := s.Forward(t.Context(), decoder.Step{Text: text, Tokens: next})
			if err != nil {
				t.Fatal(err)
			}
			next = []int32{choose(logits[0])}
			one.want = append(one.want, next[0])
		}
		x.all = append(x.all, one)
	}
	return x
}

func (x *stories) open(t *testing.T, pages int) *decoder.Session {
	s, err := x.m.NewSession(pages/x.m.Pages(1), storyPage)
	if err != nil {
		t.Fatal(err)
	}
	s.KeepWindows = true
	if x.ahead > 0 {
		if err := s.OpenAhead(x.ahead, storyPage); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// scheduler returns a scheduler of the model with so many pages.
func (x *stories) scheduler(t *testing.T, pages int, change func(*Options)) *Scheduler {
	o := Options{Open: func() (Session, error) { return x.open(t, pages), nil }, Pages: pages, Page: storyPage, Needs: x.m.Pages, Running: 8, Step: 64, Chunk: 16, Waiting: 1000, PerKey: 1000}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// submit makes all requests at once. wait returns when they have ended, with what they have to be.
func (x *stories) submit(t *testing.T, s *Scheduler) (wait func()) {
	t.Helper()
	var open sync.WaitGroup
	for _, one := range x.all {
		one.got = nil
		open.Add(1)
		task := Task{
			Context: context.Background(), Prompt: one.prompt, Most: len(one.prompt) + one.n,
			Next: func(logits []float32, _ []int32) (int32, bool, error) {
				id := choose(logits)
				one.got = append(one.got, id)
				return id, false, nil
			},
			Done: func(err error) {
				if err != nil {
					t.Error(err)
				}
				open.Done()
			},
		}
		if err := s.Submit(&task); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		open.Wait()
		for i, one := range x.all {
			if !slices.Equal(one.got, one.want) {
				t.Errorf("%d pages, request %d: %v, want %v", s.o.Pages, i, one.got, one.want)
			}
		}
	}
}

// TestWindowsDoNotDependOnLoad is the same for models some of whose layers have a window. The
// fewest pages are too few for a long text that drops none.
func TestWindowsDoNotDependOnLoad(t *testing.T) {
	for _, name := range []string{"gemma2-2", "gpt_oss-32", "mistral-2"} {
		t.Run(name, func(t *testing.T) {
			x := newStories(t, "../../testdata/tiny/"+name, 900, 1200)
			few, longest := x.few()
			groups := x.m.Pages(1)
			if few >= groups*longest/storyPage {
				t.Fatalf("%d pages are enough for a text of %d tokens that drops none", few, longest)
			}
			checkStates(t, x, few, 2*few, 40*few)
		})
	}
}

// few returns hardly more pages than the longest story needs, and its tokens.
func (x *stories) few() (pages, longest int) {
	for _, one := range x.all {
		longest = max(longest, len(one.prompt)+one.n)
	}
	groups := x.m.Pages(1)
	return (x.m.Pages(longest)/groups + 2) * groups, longest
}

// TestLongSteps: a request that is accepted is answered whatever the length of a step, also where
// pages are too few for the tokens of a step beside all tokens of a window before them.
func TestLongSteps(t *testing.T) {
	for _, name := range []string{"gemma2-2", "gpt_oss-32"} {
		x := newStories(t, "../../testdata/tiny/"+name, 900, 1200)
		for _, step := range []int{512, 800, 1200} {
			pages, _ := x.few()
			s := x.scheduler(t, pages, func(o *Options) { o.Step = step })
			wait := x.submit(t, s)
			finish(t, s)
			wait()
		}
	}
}

// checkStates has all requests answered with few pages, with some and with many.
func checkStates(t *testing.T, x *stories, few, some, many int) {
	for _, pages := range []int{few, some, many} {
		s := x.scheduler(t, pages, nil)
		for range 2 { // the second time from prefixes that are kept
			wait := x.submit(t, s)
			finish(t, s)
			wait()
		}
		stats := s.Stats()
		t.Logf("%d pages: %+v", pages, stats)
		if pages == few && stats.Preempted == 0 || pages == many && stats.Shared == 0 {
			t.Errorf("%d pages: %d tokens were shared, %d requests preempted", pages, stats.Shared, stats.Preempted)
		}
	}
}
