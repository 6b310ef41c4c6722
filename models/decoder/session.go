package decoder

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	engine "github.com/attn-go/attn/models/internal/network"
)

// A Session keeps texts of a model: a paged cache of keys and values, and the memory that a
// step computes in. It is for one goroutine at a time. A program that serves many runs one
// Session and puts the texts that take a step together into one call of [Session.Forward].
type Session struct {
	// KeepWindows keeps what no later token of a text sees until [Text.Trim], or until a call of
	// Forward that reads more than 512 tokens lacks pages for them. Without it Forward drops such
	// keys and values before a text has more pages than [Model.Pages] says.
	KeepWindows bool

	model  *Model
	caches []*kvcache.Cache // of each group of layers
	pages  engine.Paged     // of the texts of a pass
	chunk  int              // the most tokens of a pass

	// Of a call.
	logits  []float32
	results [][]float32
	done    []int // tokens of each step that passes have taken
	ready   int   // rows of logits that are computed
	hidden  bool  // hidden states are wanted in place of logits
	width   int   // of a row of them

	// Of a pass, whose rows are the tokens of all its texts, one text after the other.
	counts    []int
	texts     []*Text
	piece     []int32 // tokens that are read again, and those after them
	tokens    engine.Pass
	sequences []*kvcache.Sequence
	scored    []int   // those wanted rows that become logits
	reach     []reach // of each text

	draft      *Session // of the model that guessed last, see GenerateOptions.DraftModel and Options.MTP
	follows    int      // states that texts keep at least, see trail; 0: none
	along      bool     // the layer of Options.MTP reads with the texts, see OpenAhead
	pagesInAll int

	spare   []*engine.State // to be written again, at most as many as written
	written int             // the most states that a pass has written
}

// NewSession returns a session without texts. Its cache has room for a number of texts with a
// number of tokens each. tokens 0 means Options.Context. Texts of other lengths share the same
// room. Tokens that texts have in common by [Text.Fork] take room once, but each text copies the
// page in which it goes on. The error is a [*kernel.Error], also if the cache does not fit memory.
func (m *Model) NewSession(texts, tokens int) (*Session, error) {
	if tokens == 0 {
		tokens = m.options.Context
	}
	if texts < 1 || tokens < 1 || tokens > mostContext || texts > math.MaxInt32/m.Pages(tokens) {
		return nil, &kernel.Error{Where: "decoder: NewSession", Got: fmt.Sprintf("%d texts of %d tokens", texts, tokens), Want: fmt.Sprintf("at least one text of 1 to %d tokens, and at most %d pages", mostContext, math.MaxInt32)}
	}
	return m.newSession(texts * m.Pages(tokens))
}

// Pages returns the number of pages that a text of this many tokens needs. Each takes
// [Model.PageBytes]. Where some layers have a window, and so need fewer pages for a long text, each
// group of layers has pages of its own.
func (m *Model) Pages(tokens int) int { return m.layout.pages(tokens) }

// newSession returns a session with a cache of so many pages.
func (m *Model) newSession(pages int) (*Session, error) {
	caches, err := m.layout.caches(pages)
	if err != nil {
		return nil, fmt.Errorf("decoder: cache: %w", err)
	}
	s := &Session{model: m, caches: caches, chunk: chunk, pagesInAll: pages}
	s.tokens.Cache = &s.pages
	s.pages.Hadamard = m.options.hadamardOf(m.caches(&m.options, 0))
	for _, keeper := range m.layers.Places() {
		s.pages.Places = append(s.pages.Places, m.layout.places[min(keeper, len(m.layout.places)-1)]) // others have none
	}
	for _, cache := range caches {
		group, err := cache.NewBatch()
		if err != nil {
			return nil, err
		}
		s.pages.Groups = append(s.pages.Groups, group)
	}
	return s, nil
}

// Model returns the model of the session.
func (s *Session) Model() *Model { return s.model }

// FreePages returns the number of pages of the cache that no text uses, see [Model.Pages].
func (s *Session) FreePages() int { return s.caches[0].FreePages() }

// A Text is a text in a [Session]: tokens with their keys and values.
type Text struct {
	session *Session
	kv      pages
	tokens  []int32
	states  []*engine.State // in ascending order, none without recurrent layers
	began   int             // tokens of the one that the last call began with
	shared  int             // of the first tokens, so many may be in the memory of forks, where they never change
	marked  bool            // while steps are checked
	draft   *Text           // what a draft model has read of it, or the layer of Options.MTP; nil: nothing
	from    int             // tokens of the text that this layer has not read, which come first
	trail   trail
	closed  bool // see CloseAhead
}

// NewText returns a text without tokens.
func (s *Session) NewText() *Text {
	return &Text{session: s, kv: newPages(s.caches)}
}

// Len returns the number of tokens.
func (t *Text) Len() int { return len(t.tokens) }

// Tokens returns the tokens. The slice belongs to the text and to its forks: it must not be
// changed.
func (t *Text) Tokens() []int32 { return t.tokens }

// Fork returns a new text of the first n tokens, which shares their keys and values, and the states
// of recurrent layers. n is 0 to Len; otherwise the error is a kernel.Error. With recurrent layers
// or windows the next step of the fork also reads the tokens from Checkpoint(n) to n.
func (t *Text) Fork(n int) (*Text, error) {
	if err := t.checkLength(n); err != nil {
		return nil, err
	}
	kv, err := t.kv.fork(t.keys(n), t.session.caches)
	if err != nil {
		return nil, err
	}
	t.shared = max(t.shared, n)
	fork := &Text{session: t.session, kv: kv, tokens: slices.Clip(t.tokens[:n]), states: t.shareStates(n), shared: n}
	return fork, t.forkAhead(fork)
}

// Truncate removes the tokens after the first n. n is 0 to Len; otherwise the error is a
// kernel.Error. What Fork says of recurrent layers and windows holds here, too.
func (t *Text) Truncate(n int) error {
	if err := t.checkLength(n); err != nil {
		return err
	}
	if err := t.cutKeys(n); err != nil {
		return err
	}
	t.cutStates(n)
	if t.tokens = t.tokens[:n]; n < t.shared {
		t.tokens, t.shared = slices.Clip(t.tokens), n // the next ones go elsewhere
	}
	return t.cutAhead(n)
}

// checkLength reports a number of tokens that the text does not have.
func (t *Text) checkLength(n int) error {
	switch {
	case t.session == nil:
		return &kernel.Error{Where: "decoder: Text", Got: "one that is freed", Want: "one of a session"}
	case n < 0 || n > t.Len():
		return &kernel.Error{Where: "decoder: Text: n", Got: fmt.Sprint(n), Want: fmt.Sprintf("0 to %d", t.Len())}
	}
	return nil
}

// keys returns how many keys are kept if the first n tokens are: not all where some of them
// are to be read again, and none where a window has dropped some that the next token sees.
func (t *Text) keys(n int) int {
	if n = min(n, t.kv.Len()); t.kv.cover(n, t.session.model.layout.windows) {
		return n
	}
	return 0
}

// cutKeys leaves the keys that are kept if the first n tokens are.
func (t *Text) cutKeys(n int) error { return t.kv.truncate(t.keys(n), t.session.caches) }

// Trim drops the keys and values that no later token of the text sees, in layers with a window, and
// tells whether there were some. Where the text is then forked or truncated at an earlier token,
// all tokens are read again.
func (t *Text) Trim() bool { return t.session != nil && t.kv.trim(t.session.model.layout.windows) }

// Keep truncates the text to the tokens that it has in common with wanted, less one if that
// is all of them, and returns the rest of wanted: what [Session.Forward] has to read next so
// that the text is wanted. So a conversation that grows is not read again.
func (t *Text) Keep(wanted []int32) (rest []int32, err error) {
	n := common(t.tokens, wanted)
	if n == len(wanted) && n > 0 {
		n--
	}
	return wanted[n:], t.Truncate(n)
}

// common returns the length of the prefix that a and b have in common.
func common(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Free gives the text's pages back. The text must not be used afterwards.
func (t *Text) Free() {
	if t.session != nil {
		t.cutStates(-1)
	}
	if t.draft != nil {
		t.draft.Free()
	}
	t.kv.free()
	t.session, t.tokens = nil, nil
}
