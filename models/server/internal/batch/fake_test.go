package batch

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/attn-go/attn/kvcache"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// A fake is a session whose logits are a hash of the text, over a real cache. It notes its steps.
type fake struct {
	cache *kvcache.Cache
	batch *kvcache.Batch
	steps [][]Step             // of every call that succeeded
	fail  func(call int) error // may also panic
	calls int
}

type fakeText struct {
	sequence *kvcache.Sequence
	tokens   []int32
}

const fakeVocab = 97

func newFake(t testing.TB, pages, page int) *fake {
	t.Helper()
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: page, Pages: pages})
	if err != nil {
		t.Fatal(err)
	}
	b, err := cache.NewBatch()
	if err != nil {
		t.Fatal(err)
	}
	return &fake{cache: cache, batch: b}
}

func (f *fake) NewText() Text  { return &fakeText{sequence: f.cache.NewSequence()} }
func (f *fake) PageSize() int  { return f.cache.PageSize() }
func (f *fake) FreePages() int { return f.cache.FreePages() }

func (t *fakeText) Fork(n int) (Text, error) {
	s, err := t.sequence.Fork(n)
	return &fakeText{s, slices.Clone(t.tokens[:n])}, err
}

func (t *fakeText) Free() { t.sequence.Free() }

// Forward returns a row whose first number is the hash of the text.
func (f *fake) Forward(ctx context.Context, steps []Step) ([][]float32, error) {
	f.calls++
	if f.fail != nil {
		if err := f.fail(f.calls); err != nil {
			return nil, err
		}
	}
	var sequences []*kvcache.Sequence
	var counts []int
	for _, s := range steps {
		sequences, counts = append(sequences, s.Text.(*fakeText).sequence), append(counts, len(s.Tokens))
	}
	if err := f.batch.Set(sequences...); err != nil {
		return nil, err
	}
	if err := f.batch.Extend(counts...); err != nil {
		return nil, err
	}
	var logits [][]float32
	var noted []Step
	for _, s := range steps {
		text := s.Text.(*fakeText)
		noted = append(noted, Step{s.Text, slices.Clone(s.Tokens), s.Logits, s.All})
		var rows []float32
		for i, id := range s.Tokens {
			text.tokens = append(text.tokens, id)
			if s.All || s.Logits && i == len(s.Tokens)-1 {
				rows = append(rows, float32(hashOf(text.tokens)))
			}
		}
		logits = append(logits, rows)
	}
	f.steps = append(f.steps, noted)
	return logits, nil
}

func hashOf(tokens []int32) int32 {
	h := fnv.New32a()
	for _, id := range tokens {
		h.Write([]byte{byte(id), byte(id >> 8)})
	}
	return int32(h.Sum32() % fakeVocab)
}

// A call is a request of a test, with what becomes of it.
type call struct {
	Request
	got   []int32
	ended bool
	err   error
}

// newCall returns a request for n tokens, which ends by itself at token 0.
func newCall(ctx context.Context, key string, prompt []int32, n int) *call {
	c := &call{}
	c.Request = Request{
		Context: ctx, Key: key, Prompt: prompt, Most: len(prompt) + n,
		Next: func(logits []float32, tokens []int32) (int32, bool, error) {
			id := int32(logits[0])
			if want := hashOf(tokens); id != want {
				return 0, false, fmt.Errorf("the text that was computed is not that of the request")
			}
			c.got = append(c.got, id)
			return id, id == 0, nil
		},
		Done: func(err error) {
			if c.ended {
				panic("Done is called twice")
			}
			c.ended, c.err = true, err
		},
	}
	return c
}

// alone returns the answer that the request has by definition.
func (c *call) alone() (want []int32) {
	tokens := slices.Clone(c.Prompt)
	for len(tokens) < c.Most {
		id := hashOf(tokens)
		want, tokens = append(want, id), append(tokens, id)
		if id == 0 {
			break
		}
	}
	return want
}

// newScheduler returns a scheduler over a fake.
func newScheduler(t testing.TB, pages, page int, change func(*Options)) (*Scheduler, *fake) {
	t.Helper()
	f := newFake(t, pages, page)
	o := Options{Open: func() (Session, error) { return f, nil }, Pages: pages, Running: 8, Step: 64, Chunk: 16, Waiting: 1000, PerKey: 1000}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

func submit(t testing.TB, s *Scheduler, calls ...*call) {
	t.Helper()
	for _, c := range calls {
		if err := s.Submit(&c.Request); err != nil {
			t.Fatal(err)
		}
	}
}

// finish computes steps until there is nothing to do.
func finish(t testing.TB, s *Scheduler) {
	t.Helper()
	for n := 0; s.step(t.Context()); n++ {
		if n > 100000 {
			t.Fatal("the scheduler does not come to an end")
		}
	}
}

func check(t testing.TB, calls ...*call) {
	t.Helper()
	for i, c := range calls {
		if !c.ended || c.err != nil || !slices.Equal(c.got, c.alone()) {
			t.Errorf("request %d: ended %v, %v, answer %v, want %v", i, c.ended, c.err, c.got, c.alone())
		}
	}
}

func tokensOf(r *rand.Rand, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = 1 + r.Int32N(fakeVocab-1)
	}
	return list
}
