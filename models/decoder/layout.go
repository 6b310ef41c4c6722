package decoder

import (
	"slices"

	"github.com/attn-go/attn/kvcache"
	engine "github.com/attn-go/attn/models/internal/network"
)

// Layers with a window need the keys and values of fewer tokens than others. So the layers of a
// model form groups: layers of a group have one window and equal heads, and a text has a list of
// pages for each group, see [pages]. A page has room for the layers of any group, see
// [kvcache.NewLayouts]: where heads differ in size, groups have so many layers that their pages
// take about as much memory.
//
// Pages that no later token sees stay as long as the text has no more pages than [Model.Pages]
// says, as a fork or a truncated text may want them. With Session.KeepWindows they stay until
// [Text.Trim].

// A layout says where a session keeps the keys and values of each layer.
type layout struct {
	groups  [][]kvcache.Config // the layers of each group
	windows []int              // of each group: how many tokens a query sees, its own included; 0 means all
	places  []engine.Place     // of the layers that keep keys and values
	page    int                // tokens
}

// windowSlack is how many tokens more than a window sees stay of it, so that wrong guesses can be
// taken back.
const windowSlack = 64

// A kind is the layers that have one window and equal heads.
type kind struct {
	kvcache.Config
	window int
	layers []int
	bytes  int // of one layer in a page that groups share
	pages  int // that the longest text needs for a layer
}

// layoutOf returns the layout of a model: the one with which a text of the whole context takes the
// least memory, and of several that with the fewest groups. Where no window saves any, there is
// one group.
func (n *network) layoutOf(o *Options) layout {
	configs, windows := n.caches(o, 0), n.keptWindows()
	l := layout{page: o.PageSize}
	kinds, whole, sees := []*kind{}, int64(0), false
	for i, w := range windows {
		if l.windowed(w) >= l.whole(o.Context) {
			w = 0
		}
		at := slices.IndexFunc(kinds, func(k *kind) bool { return k.window == w && k.Config == configs[i] })
		alone, err := configs[i].PageBytes()
		if err != nil { // which the session returns
			return l.together(configs)
		}
		whole += int64(alone)
		if at < 0 {
			at = len(kinds)
			bytes, err := kvcache.LayoutsPageBytes([][]kvcache.Config{{configs[i]}})
			if err != nil {
				return l.together(configs)
			}
			kinds = append(kinds, &kind{configs[i], w, nil, bytes, l.pagesOf(w, o.Context)})
		}
		kinds[at].layers = append(kinds[at].layers, i)
		sees = sees || w > 0
	}
	best, least := 0, whole*int64(l.whole(o.Context))
	for _, k := range kinds {
		for count := range k.layers {
			page, groups, pages := (1+count)*k.bytes, 0, int64(0)
			for _, k := range kinds {
				n := k.groups(page)
				groups, pages = groups+n, pages+int64(n*k.pages)
			}
			if slices.ContainsFunc(kinds, func(k *kind) bool { return k.bytes > page }) || !sees {
				continue
			}
			sum := int64(page) * pages
			if groups == 1 { // whose pages have no gaps
				sum = whole * pages
			}
			if sum < least || sum == least && best > 0 && page > best {
				best, least = page, sum
			}
		}
	}
	if best == 0 {
		return l.together(configs)
	}
	l.places = make([]engine.Place, len(configs))
	slices.SortStableFunc(kinds, func(a, b *kind) int { return a.window - b.window })
	for _, k := range kinds {
		for part := range slices.Chunk(k.layers, best/k.bytes) {
			for slot, layer := range part {
				l.places[layer] = engine.Place{Group: len(l.groups), Layer: slot}
			}
			l.groups, l.windows = append(l.groups, slices.Repeat([]kvcache.Config{k.Config}, len(part))), append(l.windows, k.window)
		}
	}
	return l
}

// together puts all layers into one group without a window.
func (l layout) together(configs []kvcache.Config) layout {
	l.groups, l.windows = [][]kvcache.Config{configs}, []int{0}
	for i := range configs {
		l.places = append(l.places, engine.Place{Layer: i})
	}
	return l
}

// groups returns how many groups the layers of a kind form with pages of so many bytes.
func (k *kind) groups(page int) int {
	size := max(1, page/k.bytes)
	return (len(k.layers) + size - 1) / size
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

// pagesOf returns the number of pages that a text of so many tokens needs in a group with a window.
func (l *layout) pagesOf(window, tokens int) int {
	if window > 0 {
		return min(l.whole(tokens), l.windowed(window))
	}
	return l.whole(tokens)
}

// pages returns the number of pages that a text of so many tokens needs in all groups.
func (l *layout) pages(tokens int) (sum int) {
	for _, w := range l.windows {
		sum += l.pagesOf(w, tokens)
	}
	return sum
}

// caches returns a cache for each group, with so many pages that they share.
func (l *layout) caches(pages int) ([]*kvcache.Cache, error) {
	groups := make([][]kvcache.Config, len(l.groups))
	for i, group := range l.groups {
		groups[i] = slices.Clone(group)
		for j := range group {
			groups[i][j].Pages = pages
		}
	}
	if len(groups) > 1 {
		return kvcache.NewLayouts(groups)
	}
	one, err := kvcache.NewOf(groups[0])
	return []*kvcache.Cache{one}, err
}

// pageBytes returns the memory of a page.
func (l *layout) pageBytes() (sum int, err error) {
	if len(l.groups) > 1 {
		return kvcache.LayoutsPageBytes(l.groups)
	}
	return bytesOf(l.groups[0])
}

// bytesOf returns the memory of a page of some layers.
func bytesOf(layers []kvcache.Config) (sum int, err error) {
	for _, c := range layers {
		n, err := c.PageBytes()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// pages are the keys and values of a text, a sequence for each group of layers.
type pages []*kvcache.Sequence

func newPages(caches []*kvcache.Cache) (p pages) {
	for _, c := range caches {
		p = append(p, c.NewSequence())
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
func (p pages) fork(n int, caches []*kvcache.Cache) (pages, error) {
	fork := make(pages, len(p))
	for i, s := range p {
		if n == 0 && s.Start() > 0 {
			fork[i] = caches[i].NewSequence()
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
func (p pages) truncate(n int, caches []*kvcache.Cache) error {
	for i, s := range p {
		if n == 0 && s.Start() > 0 {
			s.Free()
			p[i] = caches[i].NewSequence()
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
