package recurrent

import (
	"math"
	"slices"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// The tokens of a chunk are computed from S at its beginning. With G the sums of decays in
// the chunk, in float64, and D[i][j] = exp(G[i] - G[j]),
//
//	u[i]   = beta[i]·(v[i] - exp(G[i])·(k[i]ᵀ·S)) - sum over j < i of beta[i]·D[i][j]·(k[i]·k[j])·u[j]
//	out[i] = exp(G[i])·(q[i]ᵀ·S) + sum over j ≤ i of D[i][j]·(q[i]·k[j])·u[j]
//
// where with StateSpace and GatedLinear u[i] is beta[i]·v[i]. At its end
//
//	S = exp(G[63])·S + sum over j of exp(G[63] - G[j])·k[j]·u[j]ᵀ
//
// A row needs the k, u and decays of the rows before it: these are the state within a chunk.
// Nothing of a row depends on how many rows are computed at once, as sums over j are cut into
// segments of absolute positions.

// segment is how many tokens of a chunk are added up before their sum is added to others.
const segment = 16

// A call holds the arguments of one call.
type call struct {
	Layer
	tier          *tier.Tier
	out, q, k, v  view.Tensor
	decay, gate   []float32
	position      int
	before, after []float32
}

// A scratch is the memory of one goroutine of a call.
type scratch struct {
	head    head
	numbers []float32
	usage   parallel.Usage
	memory  parallel.Memory
}

// A head is the state of a head, and what one chunk needs beside it.
type head struct {
	all  []float32      // s, kt, u and g, one after the other, in the scratch or in the state that grows
	s    []float32      // [KeySize, columns]
	kt   []float32      // [KeySize, chunk], the keys of the open chunk
	u    []float32      // [chunk, columns]
	g    []float32      // decays: [chunk], or [2, KeySize], see byElement
	sums [chunk]float64 // of decays, the token's own included: differences of sums of float32 would lose their last digits
	o    []float32      // [chunk, columns]
	kk   []float32      // [chunk, chunk]
	qk   []float32      // [chunk, chunk]
	exps []float32      // [chunk]
	rows []float32      // [5, segment, KeySize], see byElement
}

var (
	calls     = parallel.Loop[call, scratch]{Scratch: &scratches, Fit: (*call).fit, Do: (*call).heads}
	scratches = parallel.FreeList[scratch]{Memory: func(s *scratch) *parallel.Memory { return &s.memory }}
)

func (c *call) run(exec *kernel.Exec) {
	calls.Run(c, c.Heads, c.work()/float64(c.tier.ThreadFMAs), c.numbers(), exec.Threads, exec.ParallelFor)
}

// numbers is the size of a scratch.
func (c *call) numbers() int {
	return c.KeySize*c.columns() + c.openSize() + chunk*(c.columns()+2*chunk+1) + c.rowsSize()
}

func (c *call) fit(w *scratch) {
	parallel.Fit(&w.memory, &w.usage, &w.numbers, c.numbers(), parallel.Make[float32])
	rest, h := w.numbers[c.KeySize*c.columns()+c.openSize():], &w.head
	for _, x := range [...]struct {
		to *[]float32
		n  int
	}{{&h.o, chunk * c.columns()}, {&h.kk, chunk * chunk}, {&h.qk, chunk * chunk}, {&h.exps, chunk}, {&h.rows, c.rowsSize()}} {
		*x.to, rest = rest[:x.n:x.n], rest[x.n:]
	}
}

// lie puts the state of a head into memory.
func (h *head) lie(c *call, all []float32) {
	h.all = all
	for _, x := range [...]struct {
		to *[]float32
		n  int
	}{{&h.s, c.KeySize * c.columns()}, {&h.kt, c.KeySize * chunk}, {&h.u, chunk * c.columns()}, {&h.g, c.decaySize()}} {
		*x.to, all = all[:x.n:x.n], all[x.n:]
	}
}

// giveUp clears the tokens of the open chunk from row first on: a state that grew in place has them
// if the call continues an earlier one.
func (h *head) giveUp(c *call, first int) {
	for x := range c.KeySize {
		clear(h.kt[x*chunk:][first:chunk])
	}
	clear(h.u[first*c.columns():])
	clear(h.g[first:])
}

// heads computes the heads lo to hi-1.
func (c *call) heads(w *scratch, lo, hi int) {
	tokens := c.q.Dim(2)
	before, after := c.headSize(c.position), c.headSize(c.position+tokens)
	grows := c.grows(tokens)
	for h := lo; h < hi; h++ {
		if grows {
			w.head.lie(c, c.after[h*after:][:after])
		} else {
			w.head.lie(c, w.numbers[:c.KeySize*c.columns()+c.openSize()])
			n := 0
			if c.position > 0 {
				n = copy(w.head.all, c.before[h*before:][:before])
			}
			clear(w.head.all[n:])
			if first := c.position % chunk; first > 0 && !c.Rule.byElement() {
				w.head.giveUp(c, first)
			}
		}
		for at := 0; at < tokens; {
			first := (c.position + at) % chunk
			n := min(chunk-first, tokens-at)
			if c.Rule.byElement() {
				n = min(n, segment-first%segment)
			}
			c.rows(&w.head, h, at, first, first+n)
			at += n
		}
		if grows {
			u := w.head.u[c.position%chunk*c.columns():][:tokens*c.columns()]
			c.canonical(u, u)
		} else if c.after != nil && c.position+tokens > 0 {
			c.canonical(c.after[h*after:][:after], w.head.all)
		}
	}
	w.head.all, w.head.s, w.head.kt, w.head.u, w.head.g = nil, nil, nil, nil, nil // which may be the caller's
}

// minusZeros change nothing that they are added to, but for the bits of a NaN.
var minusZeros = slices.Repeat([]float32{float32(math.Copysign(0, -1))}, MostSize)

// canonical copies the beginning of src to dst, which may be the same memory, with the NaN of the
// contract in place of others: the bits of a NaN depend on the CPU that made it. On the way to an
// output no bits of a NaN matter.
func (c *call) canonical(dst, src []float32) {
	add := c.tier.Elementwise().Add
	for i := 0; i < len(dst); i += MostSize {
		n := min(MostSize, len(dst)-i)
		add(dst[i:i+n], src[i:], minusZeros)
	}
}

// exp is e^x for the exponents x of the contract.
func (c *call) exp(to []float32, x func(i int) float64) {
	log2e := math.Float32frombits(contract.Log2E)
	for i := range to {
		to[i] = float32(float32(x(i)) * log2e)
	}
	c.tier.Elementwise().Exp2(to, to)
}

// rows computes the rows lo to hi-1 of a chunk, the first of which is token at of the call.
func (c *call) rows(h *head, number, at, lo, hi int) {
	n, columns := hi-lo, c.columns()
	if c.Rule.byElement() {
		c.productsByElement(h, number, at, lo, hi)
	} else {
		c.products(h, number, at, lo, hi)
	}
	for i := lo; i < hi; i++ {
		c.row(h, i, c.gate[(at+i-lo)*c.Heads+number], c.v.Row(0, number, at+i-lo))
	}
	if c.Rule.corrects() {
		c.sums(h, h.u, h.kk, lo, hi, 0)
	}
	c.sums(h, h.o, h.qk, lo, hi, 1)
	for i := range n {
		c.canonical(c.out.Row(0, number, at+i)[:c.ValueSize], h.o[(lo+i)*columns:])
	}
	if hi == chunk {
		c.end(h)
	}
}

// products computes the products of queries and keys with S, and with the keys of the chunk.
func (c *call) products(h *head, number, at, lo, hi int) {
	n, keys, columns := hi-lo, c.KeySize, c.columns()
	q, k := c.keysOf(&c.q, number, at, n), c.keysOf(&c.k, number, at, n)
	ldq, ldk := c.q.Stride(2), c.k.Stride(2)
	for i := range n {
		h.g[lo+i] = scalar.Canonical(c.decay[(at+i)*c.Heads+number])
		for x, y := range k[i*ldk:][:keys] {
			h.kt[x*chunk+lo+i] = scalar.Canonical(y)
		}
	}
	sum := 0.0
	for i, g := range h.g[:hi] {
		sum += float64(g)
		h.sums[i] = sum
	}
	lanes := (hi + 15) &^ 15
	if c.Rule.corrects() {
		c.tier.Product(h.u[lo*columns:], columns, k, ldk, 1, h.s, columns, n, columns, keys, keys, false)
		c.tier.Product(h.kk[lo*chunk:], chunk, k, ldk, 1, h.kt, chunk, n, lanes, keys, keys, false)
	}
	c.tier.Product(h.o[lo*columns:], columns, q, ldq, 1, h.s, columns, n, columns, keys, keys, false)
	c.tier.Product(h.qk[lo*chunk:], chunk, q, ldq, 1, h.kt, chunk, n, lanes, keys, keys, false)
}

// keysOf returns n rows of queries or keys that a head of values takes.
func (c *call) keysOf(t *view.Tensor, number, at, n int) []float32 {
	return t.Rows(0, number/(c.Heads/c.KeyHeads), at, n)
}

// row multiplies the products of row i by their factors.
func (c *call) row(h *head, i int, beta float32, v []float32) {
	columns, sum := c.columns(), h.sums[i]
	d, kk, qk := h.exps[:i+1], h.kk[i*chunk:][:i+1], h.qk[i*chunk:][:i+1]
	c.exp(d, func(j int) float64 { return sum - h.sums[j] })
	for j, e := range d {
		if c.Rule.corrects() {
			kk[j] = -float32(beta * float32(e*kk[j]))
		}
		qk[j] = float32(e * qk[j])
	}
	d = h.exps[:1]
	c.exp(d, func(int) float64 { return sum })
	e, u, o := d[0], h.u[i*columns:][:columns], h.o[i*columns:][:columns]
	for j, x := range u {
		y := float32(0)
		if j < len(v) {
			y = v[j]
		}
		if c.Rule.corrects() {
			y -= float32(e * x)
		}
		u[j] = float32(beta * y)
		o[j] = float32(e * o[j])
	}
}

// sums adds the products of rows of factors and of u to rows, segment by segment. A row takes
// the u before it, and with own 1 its own.
func (c *call) sums(h *head, to, factors []float32, lo, hi, own int) {
	columns := c.columns()
	for from := lo / segment * segment; from < hi; from += segment {
		first, end := max(lo, from), min(hi, from+segment)
		if from > 0 {
			c.tier.Product(to[first*columns:], columns, factors[first*chunk:], chunk, 1, h.u, columns, end-first, columns, from, segment, true)
		}
		for i := first; i < end; i++ {
			if n := i - from + own; n > 0 {
				c.tier.Product(to[i*columns:], columns, factors[i*chunk+from:], chunk, 1, h.u[from*columns:], columns, 1, columns, n, segment, true)
			}
		}
	}
}

// end closes a chunk.
func (c *call) end(h *head) {
	columns, last := c.columns(), h.sums[chunk-1]
	if c.Rule.byElement() {
		c.endByElement(h)
	}
	d := h.exps[:1]
	c.exp(d, func(int) float64 { return last })
	e := d[0]
	for i, x := range h.s {
		h.s[i] = float32(e * x)
	}
	d = h.exps[:chunk]
	c.exp(d, func(j int) float64 { return last - h.sums[j] })
	for x := range c.KeySize {
		for j, y := range h.kt[x*chunk:][:chunk] {
			h.kt[x*chunk+j] = float32(d[j] * y)
		}
	}
	c.tier.Product(h.s, columns, h.kt, chunk, 1, h.u, columns, c.KeySize, columns, chunk, chunk, true)
	clear(h.all[len(h.s):])
}
