package contracttest

import (
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// BlockKeys is the number of keys in a block of the contract.
const BlockKeys = 256

// Constants of the contract.
var (
	CanonicalNaN = math.Float32frombits(0x7FC00000) // the NaN of every NaN row

	log2E = math.Float32frombits(0x3FB8AA3B)
	ln2   = math.Float32frombits(0x3F317218)

	mostBias = math.Float32frombits(0x7F317217)
)

// A Model computes calls of kernel.Attention as the text in package contract
// defines them, row by row and key by key, with all options: no tiles, no lanes, no
// spans, no blocks of work. From the rest of the module it uses the functions of single
// numbers in package fallback.
type Model struct {
	q, k, v, bias kernel.Tensor // widened
	keys, values  integerRows   // k and v as they are
	mask          Mask
	o             *kernel.Options
	group         int
	units         units // of the last query
	lastPath      path
}

// A ModelRow is all that a call says about one row.
type ModelRow struct {
	Out, Weights, Scores []float32
	LSE                  float32
	Blocks               []ModelBlock
}

// A ModelBlock is what one block of keys contributes to a row, as in kernel.Partials.
type ModelBlock struct {
	Max, Sum float32
	Out      []float32
}

// NewModel returns the model of a call. The mask is given beside the options, whose
// own Mask is not looked at.
func NewModel(q, k, v kernel.Tensor, mask Mask, o *kernel.Options) *Model {
	return &Model{
		q: Widened(q), k: Widened(k), v: Widened(v), bias: Widened(o.Bias), keys: integerRows{t: k}, values: integerRows{t: v},
		mask: mask, o: o, group: max(1, q.Shape()[1]) / max(1, k.Shape()[1]),
	}
}

// Group returns the number of query heads for each key head.
func (m *Model) Group() int { return m.group }

// Row computes row (b, h, i).
func (m *Model) Row(b, h, i int) ModelRow {
	keys := m.count()
	row := ModelRow{Scores: testutil.Filled(keys, NegInf), Weights: make([]float32, keys)}
	s := make([]float32, keys)
	for j := range s {
		s[j] = NegInf
		if j >= m.length(b, h, i) {
			continue
		}
		raw, capped := m.score(b, h, i, j)
		final := m.added(b, h, i, j, capped)
		if m.Sees(b, h, i, j) {
			s[j] = final
		}
		switch m.o.ScoreStage {
		case kernel.ScoresScaled:
			row.Scores[j] = natural(raw)
		case kernel.ScoresCapped:
			row.Scores[j] = natural(capped)
		default:
			row.Scores[j] = natural(s[j])
		}
	}
	start := m.blocksFrom(b)
	for lo := 0; lo < keys; {
		hi := min(keys, lo+BlockKeys-(start+lo)%BlockKeys)
		row.Blocks = append(row.Blocks, m.block(b, h, i, lo, s[lo:hi]))
		lo = hi
	}
	m.merge(&row, b, h, i, s)
	return row
}

// natural converts a score from the unit of base-2 exponentials.
func natural(s float32) float32 {
	s = float32(s*ln2) + 0
	if s != s {
		return CanonicalNaN
	}
	return s
}

// log2Units converts a score to the unit of base-2 exponentials.
func log2Units(x float32) float32 { return float32(float64(x) * math.Log2E) }

// score returns the product of a query and a key, and what Score and Softcap make of
// it.
func (m *Model) score(b, h, i, j int) (raw, capped float32) {
	scale := log2Units(m.naturalScale())
	at := m.rowOf(b, h, i, j)
	q, k := Row(&m.q, b, h, i), Row(&m.k, b, h/m.group, at)
	if m.o.DynamicInt12 {
		raw = m.quantizedScore([3]int{b, h, i}, q, scale, at)
	}
	if m.o.BFloat16 {
		raw = float32(evenOdd(q, k) * scale)
	}
	for d := 0; d < len(q) && !m.o.DynamicInt12 && !m.o.BFloat16; d += 64 { // segments
		acc := float32(0)
		for x := d; x < min(d+64, len(q)); x++ {
			acc = scalar.FMA(float32(q[x]*scale), k[x], acc)
		}
		if d == 0 {
			raw = acc
		} else {
			raw += acc
		}
	}
	capped = raw
	if m.o.Score != nil {
		capped = m.modified(b, h, i, j, raw)
	}
	if m.o.Softcap != 0 {
		limit := float64(m.o.Softcap) * math.Log2E
		capped = float32(limit) * scalar.Tanh(float32(capped*float32(1/limit)))
	}
	return raw, capped
}

// modified returns what Options.Score makes of a score.
func (m *Model) modified(b, h, i, j int, s float32) float32 {
	queryAt, keyAt := m.positions(b, h, i, j)
	tile := kernel.ScoreTile{
		Scores: []float32{s}, Stride: 1, Batch: b, Keys: 1, Key: j, KeyPosition: keyAt,
		Rows: []kernel.ScoreRow{{Head: h, Query: i, Position: queryAt}},
	}
	m.o.Score(&tile)
	return tile.Scores[0]
}

func (m *Model) positions(b, h, i, j int) (query, key int) {
	at := j
	if m.isListed() {
		at = m.rowOf(b, h, i, j)
	}
	return perBatch(m.o.QueryStart, b) + m.before(b, i), perBatch(m.o.KeyStart, b) + at
}

// added returns a score with ALiBi and the bias.
func (m *Model) added(b, h, i, j int, s float32) float32 {
	if m.o.ALiBi != nil {
		query, key := m.positions(b, h, i, j)
		slope := max(-0x1p72, min(log2Units(m.o.ALiBi[h]), 0x1p72))
		s = scalar.FMA(slope, -float32(max(query-key, key-query)), s)
	}
	if IsSet(m.bias) {
		x := m.biasOf(b, h, i, j)
		if x-x != 0 {
			return x
		}
		s = scalar.FMA(limited(x), log2E, s)
	}
	return s
}

// limited returns a bias, limited if it is finite.
func limited(x float32) float32 {
	if x-x != 0 {
		return x
	}
	return max(-mostBias, min(x, mostBias))
}

// biasOf returns the bias of a pair: -Inf for the keys after a bias that is shorter.
func (m *Model) biasOf(b, h, i, j int) float32 {
	shape := m.bias.Shape()
	if j >= shape[3] {
		return NegInf
	}
	return Floats(m.bias)[broadcast(shape, m.bias.Strides(), b, h, i)+j]
}

// length returns how many keys of a query may be read.
func (m *Model) length(b, h, i int) int {
	if m.isListed() {
		return m.mask.length(b, m.listed(b, h, i))
	}
	if m.o.Parents != nil {
		n := min(m.past(b), View(&m.keys.t).Length(b))
		for _, i := range m.path(b, i) {
			if m.past(b)+i < View(&m.keys.t).Length(b) {
				n++
			}
		}
		return m.mask.length(b, n)
	}
	return m.mask.length(b, View(&m.keys.t).Length(b))
}

// Sees applies every mask to one query and one key. (A bias may hide a key, too.)
func (m *Model) Sees(b, h, i, j int) bool {
	if j >= m.length(b, h, i) {
		return false
	}
	query, key := m.positions(b, h, i, j)
	return m.mask.sees(pair{b: b, h: h, i: i, j: j, queryAt: query, keyAt: key, queries: m.q.Shape()[2], keys: m.count(), length: m.length(b, h, i)})
}

// block computes what one block contributes, whose first key is lo.
func (m *Model) block(b, h, i, lo int, s []float32) ModelBlock {
	x := ModelBlock{Max: NegInf, Out: make([]float32, m.v.Shape()[3])}
	for _, s := range s {
		if s > x.Max {
			x.Max = s
		}
	}
	z := x.Max
	if z == NegInf {
		z = 0 // all hidden, or NaN
	}
	weights := make([]float32, len(s))
	for j, s := range s {
		if s == NegInf {
			continue
		}
		p := m.weight(s - z)
		x.Sum += p
		p = m.dropped(p, b, h, i, lo+j)
		if weights[j] = p; m.o.DynamicInt12 || m.o.BFloat16 {
			continue
		}
		for e, v := range Row(&m.v, b, h/m.group, m.rowOf(b, h, i, lo+j)) {
			x.Out[e] = scalar.FMA(p, v, x.Out[e])
		}
	}
	if m.o.DynamicInt12 {
		m.quantizedValues(x.Out, weights, s, [3]int{b, h, i}, lo)
	}
	if m.o.BFloat16 {
		m.roundedValues(x.Out, weights, s, [3]int{b, h, i}, lo)
	}
	return x
}

// dropped returns a weight after the dropout.
func (m *Model) dropped(p float32, b, h, i, j int) float32 {
	d := &m.o.Dropout
	if d.Rate == 0 {
		return p
	}
	sequence := uint32(b)
	if d.Sequences != nil {
		sequence = d.Sequences[b]
	}
	query, key := m.positions(b, h, i, j)
	words := Philox([4]uint32{sequence, uint32(h), uint32(query), uint32(key / 4)}, [2]uint32{uint32(d.Seed), uint32(d.Seed >> 32)})
	if float64(words[key%4]) < math.RoundToEven(float64(d.Rate)*0x1p32) {
		return 0
	}
	return p * float32(1/(1-float64(d.Rate)))
}

// Philox is Philox4x32-10 as the paper has it.
func Philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		p0, p1 := uint64(c[0])*0xD2511F53, uint64(c[2])*0xCD9E8D57
		c = [4]uint32{uint32(p1>>32) ^ c[1] ^ k[0], uint32(p1), uint32(p0>>32) ^ c[3] ^ k[1], uint32(p0)}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c
}

// merge merges the blocks and finishes the row.
func (m *Model) merge(row *ModelRow, b, h, i int, s []float32) {
	top, l, o := NegInf, float32(0), make([]float32, m.v.Shape()[3])
	blocks := row.Blocks
	if m.o.Sinks != nil {
		blocks = append(blocks[:len(blocks):len(blocks)], ModelBlock{Max: log2Units(m.o.Sinks[h]), Sum: 1, Out: make([]float32, len(o))})
	}
	for _, x := range blocks {
		if x.Max == NegInf && x.Sum == 0 {
			continue // no visible key
		}
		next := top
		if x.Max > next {
			next = x.Max
		}
		z := next
		if z == NegInf {
			z = 0
		}
		alpha, beta := scalar.Weight(top-z), scalar.Weight(x.Max-z)
		l = scalar.FMA(x.Sum, beta, float32(l*alpha))
		for e := range o {
			o[e] = scalar.FMA(x.Out[e], beta, float32(o[e]*alpha))
		}
		top = next
	}
	row.Out = o
	row.LSE = NegInf
	if l == 0 {
		clear(o)
		return
	}
	row.LSE = float32((top+scalar.Log2(l))*ln2) + 0
	nan := row.normalise(l)
	for j := range s {
		switch {
		case l != l:
			row.Weights[j] = CanonicalNaN
		case s[j] != NegInf:
			row.Weights[j] = float32(m.dropped(m.weight(s[j]-top), b, h, i, j)*(1/l)) + 0
		}
	}
	if nan {
		Fill(o, CanonicalNaN)
		row.LSE = CanonicalNaN
	}
}

// normalise divides the outputs by the sum and tells whether one is NaN.
func (row *ModelRow) normalise(l float32) (nan bool) {
	inv := 1 / l
	for e := range row.Out {
		row.Out[e] = float32(row.Out[e]*inv) + 0
		nan = nan || row.Out[e] != row.Out[e]
	}
	return nan || l != l
}
