// Package recurrent computes layers that carry a state from token to token, in place of keys and
// values of all tokens: by the gated delta rule, or by the sums of Mamba-2, each with a decay for a
// head or for each element of its keys.
//
// A result has the same bits on every CPU, with any number of threads, and in whatever pieces a
// text is read: at once, in chunks or token by token. The numeric contract, package contract,
// defines them.
package recurrent

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Rule says how a token changes the state S of a head, with its key k, value v, decay g and gate
// beta.
type Rule uint8

// The rules. With each of them, the output of a token with the query q is qᵀ·S.
const (
	// GatedDelta replaces what S has for a key: S = exp(g)·S, and then S = S + beta·k·(v - kᵀ·S)ᵀ
	// (Yang, Kautz, Hatamizadeh: "Gated Delta Networks").
	GatedDelta Rule = iota

	// StateSpace adds to it: S = exp(g)·S + beta·k·vᵀ (Dao, Gu: "Transformers are SSMs", Mamba-2,
	// which calls q, k, v and beta C, B, x and Δ; g is Δ·A).
	StateSpace

	// KimiDelta is GatedDelta with a decay for each element of a key: S = diag(exp(g))·S (Kimi
	// Team: "Kimi Linear").
	KimiDelta

	// GatedLinear is StateSpace with a decay for each element of a key (Yang et al.: "Gated Linear
	// Attention", where beta is 1).
	GatedLinear
)

// corrects tells whether a token replaces what S has for its key.
func (r Rule) corrects() bool { return r == GatedDelta || r == KimiDelta }

// byElement tells whether each element of a key has its own decay.
func (r Rule) byElement() bool { return r >= KimiDelta }

// A Layer is the sizes of the heads of a layer, each of which keeps a matrix S [KeySize,
// ValueSize], 0 at the beginning of a text. Value head h takes head h/(Heads/KeyHeads) of queries
// and keys. Callers normalise and scale these.
type Layer struct {
	Heads, KeyHeads    int // of values, and of queries and keys; KeyHeads divides Heads
	KeySize, ValueSize int // elements of a head, at most MostSize
	Rule               Rule
}

const (
	// chunk is the number of tokens that S is constant for: it changes at multiples of chunk, and
	// until then the state has what the tokens after the last multiple add to it.
	chunk = 64

	// MostSize is the most elements of a head.
	MostSize = 1 << 10
)

// A Text is tokens of one text, of which Position is the first.
type Text struct {
	Q, K     kernel.Tensor // [1, KeyHeads, L, KeySize], float32
	V        kernel.Tensor // [1, Heads, L, ValueSize]
	Decay    []float32     // [L, Heads]: g, at most 0; of KimiDelta, GatedLinear [L, Heads, KeySize]
	Gate     []float32     // [L, Heads]: beta
	Position int           // tokens of the text before these
	Before   []float32     // the state after those tokens: StateSize(Position) numbers, nothing at Position 0
	After    []float32     // receives the state after all tokens, StateSize(Position + L) numbers, unless it is nil; see Apply
}

// StateSize returns how many numbers the state of a text of so many tokens has, at most
// math.MaxInt. After a multiple of 64 tokens it is about half of what it is elsewhere. It is 0 for
// sizes or a position that Apply refuses.
func (l Layer) StateSize(position int) int {
	if l.check() != nil || position <= 0 {
		return 0
	}
	return ints.MulSat(l.Heads, l.headSize(position))
}

// headSize is the size of the state of a head.
func (l *Layer) headSize(position int) int {
	if position%chunk == 0 {
		return l.KeySize * l.columns()
	}
	return l.KeySize*l.columns() + l.openSize()
}

// columns is ValueSize rounded up to what all kernels take.
func (l *Layer) columns() int { return (l.ValueSize + 15) &^ 15 }

// openSize is the size of what a head has of the tokens of an open chunk.
func (l *Layer) openSize() int { return chunk*(l.KeySize+l.columns()) + l.decaySize() }

// decaySize is how many numbers a head has of decays in an open chunk.
func (l *Layer) decaySize() int {
	if l.Rule.byElement() {
		return 2 * l.KeySize
	}
	return chunk
}

// decays is how many decays a head of a token has.
func (l *Layer) decays() int {
	if l.Rule.byElement() {
		return l.KeySize
	}
	return 1
}

// Apply writes the outputs of all tokens of a text to out, [1, Heads, L, ValueSize], and the state
// after them to After. Before stays as it is. No output shares memory with an input or with the
// other one, but for After, which may be Before with GatedDelta and StateSpace if both lie between
// the same two multiples of 64 tokens: then the tokens are added to it, which takes less time than
// a copy. The state before them can still be read there, as nothing changes that belongs to fewer
// tokens. A copy of the state before has none of the new tokens.
//
// In the steady state a call allocates nothing, see [kernel.ReleaseMemory]. An error is a
// [*kernel.Error], and leaves out and After untouched.
func (l Layer) Apply(out kernel.Tensor, x Text, exec kernel.Exec) error {
	c := call{Layer: l, out: view.Tensor(out), q: view.Tensor(x.Q), k: view.Tensor(x.K), v: view.Tensor(x.V), decay: x.Decay, gate: x.Gate, position: x.Position, before: x.Before, after: x.After}
	t, err := elementwise.Begin("recurrent.Layer.Apply", &exec, cmp.Or(l.check(), c.check()))
	if err != nil {
		return err
	}
	if view.Races {
		c.announce()
	}
	c.tier = t
	c.run(&exec)
	return nil
}

// check reports sizes that are out of range.
func (l *Layer) check() *check.Failure {
	for _, x := range [...]struct {
		name    string
		n, most int
	}{{"Heads", l.Heads, 1 << 16}, {"KeyHeads", l.KeyHeads, 1 << 16}, {"KeySize", l.KeySize, MostSize}, {"ValueSize", l.ValueSize, MostSize}} {
		if x.n < 1 || x.n > x.most {
			return &check.Failure{Where: "Layer." + x.name, Got: fmt.Sprint(x.n), Want: fmt.Sprintf("1 to %d", x.most)}
		}
	}
	if l.Rule > GatedLinear {
		return &check.Failure{Where: "Layer.Rule", Got: fmt.Sprint(l.Rule), Want: "GatedDelta, StateSpace, KimiDelta or GatedLinear"}
	}
	if l.Heads%l.KeyHeads != 0 {
		return &check.Failure{Where: "Layer.KeyHeads", Got: fmt.Sprint(l.KeyHeads), Want: fmt.Sprintf("a divisor of the %d heads of values", l.Heads)}
	}
	return nil
}

// check reports the first argument that does not fit.
func (c *call) check() *check.Failure {
	if f := c.q.CheckPlainFloats("Text.Q"); f != nil {
		return f
	}
	l := c.q.Dim(2)
	if f := cmp.Or(checkTensor("Text.Q", &c.q, c.KeyHeads, l, c.KeySize), checkTensor("Text.K", &c.k, c.KeyHeads, l, c.KeySize), checkTensor("Text.V", &c.v, c.Heads, l, c.ValueSize), checkTensor("out", &c.out, c.Heads, l, c.ValueSize)); f != nil {
		return f
	}
	if c.position < 0 || c.position > mostTokens-l {
		return &check.Failure{Where: "Text.Position", Got: fmt.Sprint(c.position), Want: fmt.Sprintf("0 to %d", mostTokens-l)}
	}
	if c.after != nil {
		if f := checkNumbers("Text.After", c.after, c.StateSize(c.position+l)); f != nil {
			return f
		}
	}
	before := view.MemoryOf(c.before)
	if c.grows(l) { // it is After, which the list has
		before = view.Memory{}
	}
	return cmp.Or(
		checkNumbers("Text.Decay", c.decay, ints.MulSat(ints.MulSat(l, c.Heads), c.decays())), checkNumbers("Text.Gate", c.gate, ints.MulSat(l, c.Heads)), checkNumbers("Text.Before", c.before, c.StateSize(c.position)),
		c.out.CheckDistinct("out"),
		view.CheckApart(2, []string{"out", "Text.After", "Text.Q", "Text.K", "Text.V", "Text.Decay", "Text.Gate", "Text.Before"},
			c.out.Memory(), view.MemoryOf(c.after), c.q.Memory(), c.k.Memory(), c.v.Memory(), view.MemoryOf(c.decay), view.MemoryOf(c.gate), before),
	)
}

// grows tells whether After is Before and may be so: keys that decay in place don't show the state
// before the call.
func (c *call) grows(tokens int) bool {
	if c.Rule.byElement() {
		return false
	}
	first, last := c.position%chunk, c.position%chunk+tokens
	return len(c.before) > 0 && len(c.after) == len(c.before) && &c.after[0] == &c.before[0] && first > 0 && last < chunk
}

func checkTensor(name string, t *view.Tensor, heads, tokens, size int) *check.Failure {
	if f := t.CheckPlainFloats(name); f != nil {
		return f
	}
	if want := [4]int{1, heads, tokens, size}; t.Shape() != want || t.DType() != view.Float32 {
		return &check.Failure{Where: name, Got: t.Describe(), Want: fmt.Sprintf("float32 %v, with the tokens of Text.Q", want)}
	}
	return nil
}

func checkNumbers(name string, x []float32, n int) *check.Failure {
	if len(x) != n {
		return &check.Failure{Where: name, Got: fmt.Sprintf("%d numbers", len(x)), Want: fmt.Sprint(n)}
	}
	return nil
}

// mostTokens bounds positions, so that sizes do not overflow.
const mostTokens = 1 << 30

// announce announces to the race detector what the call reads and writes.
func (c *call) announce() {
	for _, t := range [...]*view.Tensor{&c.q, &c.k, &c.v} {
		t.AnnounceAll(view.Read)
	}
	for _, x := range [...][]float32{c.decay, c.gate, c.before} {
		view.Announce(view.Read, x)
	}
	c.out.AnnounceAll(view.Write)
	view.Announce(view.Write, c.after)
}

// work is how many FMAs a call takes, at least 1.
func (c *call) work() float64 {
	return float64(1 + ints.MulSat(ints.MulSat(c.Heads, c.q.Dim(2)), 3*c.KeySize*c.ValueSize+2*chunk*(c.KeySize+c.ValueSize)))
}
