package batch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/decoder"
)

// TestStatesDoNotDependOnLoad: the answers of a model whose layers carry states are the same alone and
// beside others, whose prompts begin alike, with few pages and in small chunks.
func TestStatesDoNotDependOnLoad(t *testing.T) {
	for _, name := range []string{"lfm2-1", "qwen3_5_text-2"} {
		t.Run(name, func(t *testing.T) { checkStates(t, "../../../testdata/tiny/"+name) })
	}
}

func checkStates(t *testing.T, folder string) {
	const page = 16
	m, err := decoder.Load(folder, decoder.Options{PageSize: page})
	if err != nil {
		t.Fatal(err)
	}
	open := func(pages int) *decoder.Session {
		s, err := m.NewSession(pages, page)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	r := rand.New(rand.NewPCG(3, 4))
	begin := [][]int32{tokensOf(r, 130), tokensOf(r, 40)}
	type request struct {
		prompt    []int32
		n         int
		got, want []int32
	}
	choose := func(logits []float32) int32 { return int32(slices.Index(logits, slices.Max(logits))) }
	var all []*request
	for range 24 {
		prefix := begin[r.IntN(2)]
		x := &request{prompt: slices.Concat(prefix[:r.IntN(len(prefix)+1)], tokensOf(r, 1+r.IntN(40))), n: 1 + r.IntN(60)}
		s := open(16)
		text := s.NewText()
		next := x.prompt
		for range x.n {
			logits, err := s.Forward(t.Context(), decoder.Step{Text: text, Tokens: next})
			if err != nil {
				t.Fatal(err)
			}
			next = []int32{choose(logits[0])}
			x.want = append(x.want, next[0])
		}
		all = append(all, x)
	}
	for _, pages := range []int{16, 40, 200} {
		s, err := New(Options{Open: func() (Session, error) { return open(pages), nil }, Pages: pages, Page: page, Running: 8, Step: 64, Chunk: 16, Waiting: 1000, PerKey: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from prefixes that are kept
			for _, x := range all {
				x.got = nil
				task := Task{
					Context: t.Context(), Prompt: x.prompt, Most: len(x.prompt) + x.n,
					Next: func(logits []float32, _ []int32) (int32, bool, error) {
						id := choose(logits)
						x.got = append(x.got, id)
						return id, false, nil
					},
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
			finish(t, s)
			for i, x := range all {
				if !slices.Equal(x.got, x.want) {
					t.Errorf("%d pages, request %d: %v, want %v", pages, i, x.got, x.want)
				}
			}
		}
		stats := s.Stats()
		t.Logf("%d pages: %+v", pages, stats)
		if pages == 16 && stats.Preempted == 0 || pages == 200 && stats.Shared == 0 {
			t.Errorf("%d pages: %d tokens were shared, %d requests preempted", pages, stats.Shared, stats.Preempted)
		}
	}
}
