package decoder

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// windowFolders are models all or some of whose layers see a window of 16 tokens, with the windows
// of their groups.
var windowFolders = []struct {
	name   string
	groups []int
}{
	{"mistral-2", []int{16}}, {"gemma2-2", []int{0, 16}}, {"gpt_oss-32", []int{0, 16, 16}}, {"ministral-2", []int{0, 16}},
	{"olmo3-67", []int{0, 16, 16, 16}}, {"cohere2-6", []int{0, 16}}, {"gemma3n-67", []int{0, 16, 16}},
	{"gemma4-67", []int{0, 16}}, // whose full layer has heads of 4 times the size, so that both layers with a window lie in one page
	{"gemma4-moe-41", []int{0, 16}},
}

// windowContext is more tokens than the windows need pages for.
const windowContext = 1600

func loadWindows(t *testing.T, name string, o Options) *Model {
	o.PageSize, o.Context = 16, windowContext
	return loadRecurrent(t, name, o)
}

// keepingAll returns the model with a cache that keeps all tokens in all layers.
func keepingAll(m *Model) *Model {
	all := *m
	all.layout = layout{page: m.options.PageSize}.together(m.caches(&m.options, 0))
	return &all
}

// TestWindows: texts whose windows are dropped have the bits of texts that are read token by token,
// in whatever pieces they are read, forked, truncated and read on.
func TestWindows(t *testing.T) {
	for _, x := range windowFolders {
		t.Run(x.name, func(t *testing.T) {
			m := loadWindows(t, x.name, Options{})
			if !slices.Equal(m.layout.windows, x.groups) {
				t.Fatalf("groups of windows %v, want %v", m.layout.windows, x.groups)
			}
			if len(x.groups) > 1 || x.groups[0] > 0 {
				checkStates(t, m, 20, 600)
			}
		})
	}
}

// TestWindowBytes: a text of the whole context takes no more memory in groups than in one group
// that keeps all tokens, whatever the size of a page: layers that share a page begin at whole cache
// lines.
func TestWindowBytes(t *testing.T) {
	grouped := 0
	for _, x := range windowFolders {
		for _, kind := range []kernel.DType{kernel.Float32, kernel.BFloat16, kernel.Int8} {
			for _, page := range []int{1, 2, 3, 16, 64} {
				m, err := Load(tinyFolder(x.name), Options{CacheType: kind, PageSize: page, Context: 1000})
				if err != nil {
					t.Fatal(err)
				}
				bytes := func(m *Model) int {
					page, err := m.PageBytes()
					if err != nil {
						t.Fatal(err)
					}
					return page * m.Pages(m.options.Context)
				}
				got, all := bytes(m), bytes(keepingAll(m))
				if got > all || len(m.layout.groups) > 1 && got == all {
					t.Errorf("%s, %v, pages of %d: %d bytes in %d groups for a text, and %d in one", x.name, kind, page, got, len(m.layout.groups), all)
				}
				if len(x.groups) == 1 && m.layout.windows[0] != x.groups[0] { // which has no gaps
					t.Errorf("%s, %v, pages of %d: a window of %d, want %d", x.name, kind, page, m.layout.windows[0], x.groups[0])
				}
				if len(m.layout.groups) > 1 {
					grouped++
				}
			}
		}
	}
	if grouped == 0 {
		t.Error("no model has several groups")
	}
}

// TestWindowPages: a session for texts of so many tokens has room for them, with fewer pages than a
// cache that keeps all, and logits have the bits of that cache, whatever the type.
func TestWindowPages(t *testing.T) {
	for _, x := range windowFolders {
		for _, kind := range []kernel.DType{kernel.Float32, kernel.Int8} {
			m := loadWindows(t, x.name, Options{CacheType: kind})
			all := keepingAll(m)
			bytes := func(m *Model) int {
				page, err := m.PageBytes()
				if err != nil {
					t.Fatal(err)
				}
				return page * m.Pages(windowContext)
			}
			near := 0 // layers with a window
			for _, place := range m.layout.places {
				if m.layout.windows[place.Group] > 0 {
					near++
				}
			}
			layers := len(all.layout.places)
			layer, whole, windowed := bytes(all)/layers, windowContext/16, (15+15+64+512+15)/16
			want := layer / whole * ((layers-near)*whole + near*windowed)
			if heads := all.layout.groups[0]; heads[0] != heads[layers-1] { // a page has room for the larger group
				larger, groups := heads[2:], whole+windowed // the layer without a window
				if x.name == "gemma4-moe-41" && kind == kernel.Float32 {
					larger = []kvcache.Config{heads[0], heads[2]}
				} else if x.name == "gemma4-moe-41" { // whose layers without a window are smaller, so that the others have two groups
					larger, groups = []kvcache.Config{heads[1], heads[3]}, whole+2*windowed
				}
				page, err := bytesOf(larger)
				if err != nil {
					t.Fatal(err)
				}
				want = page * groups
			}
			if got := bytes(m); got != want {
				t.Errorf("%s: %d bytes for a text, want %d of %d", x.name, got, want, bytes(all))
			}
			ids := [][]int32{prompt(windowContext, 3), prompt(windowContext, 4)}
			small, large := session(t, m, 2, 0), session(t, all, 2, 0)
			var texts, wants [2]*Text
			for i := range texts {
				texts[i], wants[i] = small.NewText(), large.NewText()
			}
			for at, n := 0, 0; at < windowContext; at += n {
				n = min([]int{700, 1, 130, 2}[at%4], windowContext-at)
				step := func(of [2]*Text) (steps []Step) {
					for i := range of {
						steps = append(steps, Step{Text: of[i], Tokens: ids[i][at : at+n]})
					}
					return steps
				}
				got, want := forward(t, small, step(texts)...), forward(t, large, step(wants)...)
				for i := range got {
					sameBits(t, fmt.Sprintf("%s: text %d after %d tokens", x.name, i, at+n), got[i], want[i])
				}
			}
			if free := small.FreePages(); free < 0 || free >= 2*m.Pages(windowContext) {
				t.Errorf("%s: %d free pages", x.name, free)
			}
		}
	}
}

// TestTextMemory: what inspect says of a text is what a session of the default page takes for it.
func TestTextMemory(t *testing.T) {
	for _, x := range windowFolders {
		m := loadRecurrent(t, x.name, Options{Context: windowContext})
		page, err := m.PageBytes()
		if got, want := m.textMemory(windowContext), int64(page*m.Pages(windowContext)); err != nil || got != want {
			t.Errorf("%s: %d bytes, want %d, %v", x.name, got, want, err)
		}
	}
}

// TestTrim: Trim leaves what a window sees and a little more, which is how far a text can be
// truncated without being read again.
func TestTrim(t *testing.T) {
	m := loadWindows(t, "gemma2-2", Options{})
	s := session(t, m, 2, 0)
	s.KeepWindows = true
	x := s.NewText()
	forward(t, s, Step{Text: x, Tokens: prompt(400, 1)})
	free := s.FreePages()
	if x.Checkpoint(100) != 100 || !x.Trim() || x.Trim() {
		t.Errorf("a text that keeps all: checkpoint %d", x.Checkpoint(100))
	}
	start := (400 - 15 - 64) / 16 * 16
	if got := s.FreePages() - free; got != start/16 {
		t.Errorf("%d pages are dropped, want %d", got, start/16)
	}
	for n, want := range map[int]int{400: 400, start + 15: start + 15, start + 14: 0, 1: 0} {
		if got := x.Checkpoint(n); got != want {
			t.Errorf("the checkpoint of %d tokens is after %d, want %d", n, got, want)
		}
	}
	gone := s.NewText()
	gone.Free()
	if n, m := x.Checkpoint(-5), gone.Checkpoint(0); n != 0 || m != 0 {
		t.Errorf("checkpoints after %d of -5 tokens and %d of a freed text, want none", n, m)
	}
	if fork, err := x.Fork(start + 14); err != nil || fork.Len() != start+14 || fork.kv.Len() != 0 {
		t.Errorf("a fork where the window is gone: %v", err)
	}
	if _, err := x.Save(nil, 0, 16); err == nil {
		t.Error("tokens are saved that are gone in some layers")
	}
}

// TestFullWindows: where a session keeps windows until Trim, a step that lacks pages is an error
// that leaves the texts as they are.
func TestFullWindows(t *testing.T) {
	m := loadWindows(t, "gpt_oss-32", Options{})
	s := session(t, m, 1, 0)
	s.KeepWindows = true
	x, ids := s.NewText(), prompt(windowContext, 5)
	read, trims := 0, 0
	for ; read < windowContext; read += 40 {
		_, err := s.Forward(t.Context(), Step{Text: x, Tokens: ids[read : read+40]})
		if err == nil {
			continue
		}
		if !isFull(err) || x.Len() != read || !x.Trim() {
			t.Fatalf("after %d tokens: %v", read, err)
		}
		trims++
		got := forward(t, s, Step{Text: x, Tokens: ids[read : read+40]})
		large := session(t, keepingAll(m), 1, 0)
		want := forward(t, large, Step{Text: large.NewText(), Tokens: ids[:read+40]})
		sameBits(t, fmt.Sprintf("%d tokens", read+40), got[0], want[0])
	}
	if x.Len() != windowContext || trims == 0 {
		t.Errorf("%d tokens are read, %d times pages lacked", x.Len(), trims)
	}
}

// TestLongSteps: a session that keeps windows has room for a text that is read in one call, whose
// later passes drop what they do not see once pages lack, and not before.
func TestLongSteps(t *testing.T) {
	for _, x := range windowFolders {
		m := loadWindows(t, x.name, Options{})
		ids := prompt(windowContext, 6)
		small, large := session(t, m, 1, 0), session(t, keepingAll(m), 1, 0)
		small.KeepWindows = true
		text := small.NewText()
		got := forward(t, small, Step{Text: text, Tokens: ids})
		sameBits(t, x.name, got[0], forward(t, large, Step{Text: large.NewText(), Tokens: ids})[0])
		roomy := session(t, m, 3, 0)
		roomy.KeepWindows = true
		kept := roomy.NewText()
		forward(t, roomy, Step{Text: kept, Tokens: ids})
		if n := kept.Checkpoint(100); n != 100 {
			t.Errorf("%s: a text with room for all of it keeps a checkpoint after %d tokens, want 100", x.name, n)
		}
	}
}
