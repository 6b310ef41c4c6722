package decoder

import (
	"slices"

	"github.com/attn-go/attn/kvcache"
	engine "github.com/attn-go/attn/models/internal/network"
)

// Layers with a window need the keys and values of fewer tokens than others. So the layers of a
// model form groups: layers of a group have one window, and a text has a list of pages for each
// group, see [pages]. All groups have as many layers, so that a page fits any of them: they take
// pages from one cache.
//
// Pages that no later token sees stay as long as the text has no more pages than [Model.Pages]
// says, as a fork or a truncated text may want them. With Session.KeepWindows they stay until
// [Text.Trim].

// A layout says where a session keeps the keys and values of each layer.
type layout struct {
	slots   []kvcache.Config // of the layers of a group
	windows []int            // of each group: how many tokens a query sees, its own included; 0 means all
	places  []engine.Place   // of the layers that keep keys and values
	page    int              // tokens
}

// windowSlack is how many tokens more than a window sees stay of it, so that wrong guesses can be
// taken back.
const windowSlack = 64

// layoutOf returns the layout of a model. There is one group without a window where no text would
// take fewer pages with several, and where layers differ in more than the window: a page would not
// fit all of them.
func (n *network) layoutOf(o *Options) layout {
	configs, windows := n.caches(o, 0), n.keptWindows()
	l := layout{page: o.PageSize}
	for i, w := range windows {
		if l.windowed(w) >= l.whole(o.Context) {
			windows[i] = 0
		}
	}
	if len(windows) == 0 {
		l.windows = []int{0} // of a model that keeps nothing, which has no session
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(windows)))
	if len(kinds) > 1 && slices.ContainsFunc(configs, func(c kvcache.Config) bool { return c != configs[0] }) {
		clear(windows)
		kinds = []int{0}
	}
	size := 0 // of a group: what divides the number of layers of each kind
	for _, kind := range kinds {
		count := 0
		for _, w := range windows {
			if w == kind {
				count++
			}
		}
		size = divisor(size, count)
	}
	l.slots, l.places = configs[:size], make([]engine.Place, len(configs))
	for _, kind := range kinds {
		slot := size
		for i, w := range windows {
			if w != kind {
				continue
			}
			if slot == size {
				l.windows, slot = append(l.windows, kind), 0
			}
			l.places[i] = engine.Place{Group: len(l.windows) - 1, Layer: slot}
			slot++
		}
	}
	return l
}

// divisor returns the greatest common divisor.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// keptWindows returns how far the queries see that read what a layer keeps, for each layer that
// keeps keys and values; 0 means that they see all.
func (n *network) keptWindows() (windows []int) {
	keeper := make([]int, len(n.arch.Layers))
	for i := range n.arch.Layers {
		a := n.arch.Layers[i].Attention()
		if a == nil {
			continue
		}
		w := a.Window
		if n.arch.BothWays {
			w = 0
		}
		if a.Source == 0 {
			keeper[i] = len(windows)
			windows = append(windows, w)
			continue
		}
		if at := &windows[keeper[a.Source-1]]; w == 0 || *at == 0 {
			*at = 0
		} else {
			*at = max(*at, w)
		}
	}
	return windows
}

// whole returns the number of pages of so many tokens.
func (l *layout) whole(tokens int) int { return (tokens + l.page - 1) / l.page }

// windowed returns the most pages that a group with a window needs while a pass reads more tokens.
func (l *layout) windowed(window int) int {
	return l.whole(l.page - 1 + window - 1 + windowSlack + chunk)
}

// pages returns the number of pages that a text of so many tokens needs in all groups.
func (l *layout) pages(tokens int) (sum int) {
	for _, w := range l.windows {
		n := l.whole(tokens)
		if w > 0 {
			n = min(n, l.windowed(w))
		}
		sum += n
	}
	return sum
}

// pages are the keys and values of a text, a sequence for each group of layers.
type pages []*kvcache.Sequence

func newPages(c *kvcache.Cache, groups int) pages {
	p := make(pages, groups)
	for i := range p {
		p[i] = c.NewSequence()
	}
	return p
}

// Len returns the number of tokens.
func (p pages) Len() int { return p[0].Len() }

// count returns the number of pages of a size with so many more tokens.
func (p pages) count(more, size int) (sum int) {
	for _, s := range p {
		sum += (s.Len() - s.Start() + more + size - 1) / size
	}
	return sum
}

// cover tells whether all groups have what the token after the first n ones sees.
func (p pages) cover(n int, windows []int) bool {
	for i, s := range p {
		if w := windows[i]; s.Start() > 0 && n < s.Start()+w-1 {
			return false
		}
	}
	return true
}

// fork shares the first n tokens, which are covered, or none.
func (p pages) fork(n int, c *kvcache.Cache) (pages, error) {
	fork := make(pages, len(p))
	for i, s := range p {
		if n == 0 && s.Start() > 0 {
			fork[i] = c.NewSequence()
			continue
		}
		var err error
		if fork[i], err = s.Fork(n); err != nil { // from the first one, as all have as many tokens
			return nil, err
		}
	}
	return fork, nil
}

// truncate leaves the first n tokens, which are covered, or none.
func (p pages) truncate(n int, c *kvcache.Cache) error {
	for i, s := range p {
		if n == 0 && s.Start() > 0 {
			s.Free()
			p[i] = c.NewSequence()
		} else if err := s.Truncate(n); err != nil {
			return err
		}
	}
	return nil
}

func (p pages) free() {
	for _, s := range p {
		s.Free()
	}
}

// trim drops what no token behind a window sees, and tells whether there was something.
func (p pages) trim(windows []int) (dropped bool) {
	for i, s := range p {
		start := s.Start()
		if at := s.Len() - (windows[i] - 1) - windowSlack; windows[i] > 0 && at > start && s.DropBefore(at) == nil {
			dropped = dropped || s.Start() > start
		}
	}
	return dropped
}
