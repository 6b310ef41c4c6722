package batch

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/gguf"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// A fake is the session of a tiny model, with hashes of the texts in place of logits. It notes its
// steps.
type fake struct {
	*decoder.Session
	page  int
	steps [][]decoder.Step     // of every call that succeeded
	fail  func(call int) error // may also panic
	calls int
}

const fakeVocab = 97

// fakes are the tiny model with pages of some size.
var fakes sync.Map

func newFake(t testing.TB, pages, page int) *fake {
	t.Helper()
	m, ok := fakes.Load(page)
	if !ok {
		f, err := gguf.New(tinyllama.New(nil).Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if m, err = decoder.New(f, decoder.Options{PageSize: page, Context: 4096, Exec: kernel.Exec{Threads: 1}}); err != nil {
			t.Fatal(err)
		}
		fakes.Store(page, m)
	}
	s, err := m.(*decoder.Model).NewSession(pages, page)
	if err != nil {
		t.Fatal(err)
	}
	return &fake{Session: s, page: page}
}

func (f *fake) freePages() int { return f.FreePages() }

// Forward returns rows whose first number is the hash of the text.
func (f *fake) Forward(ctx context.Context, steps ...decoder.Step) ([][]float32, error) {
	f.calls++
	if f.fail != nil {
		if err := f.fail(f.calls); err != nil {
			return nil, err
		}
	}
	var noted []decoder.Step
	for _, s := range steps {
		noted = append(noted, decoder.Step{Text: s.Text, Tokens: slices.Clone(s.Tokens), Logits: s.Logits})
	}
	logits, err := f.Session.Forward(ctx, steps...)
	if err != nil {
		return nil, err
	}
	f.steps = append(f.steps, noted)
	for i, s := range steps {
		tokens := s.Text.Tokens()
		for row := range len(logits[i]) / tinyllama.Vocab {
			last := len(tokens) - len(logits[i])/tinyllama.Vocab + row
			logits[i][row*tinyllama.Vocab] = float32(hashOf(tokens[:last+1]))
		}
	}
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
	Task
	got   []int32
	ended bool
	err   error
}

// newCall returns a request for n tokens, which ends by itself at token 0.
func newCall(ctx context.Context, key string, prompt []int32, n int) *call {
	c := &call{}
	c.Task = Task{
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
	o := Options{Open: func() (Session, error) { return f, nil }, Pages: pages, Page: page, Running: 8, Step: 64, Chunk: 16, Waiting: 1000, PerKey: 1000}
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
		if err := s.Submit(&c.Task); err != nil {
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
