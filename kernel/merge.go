package kernel

import "github.com/attn-go/attn/fallback"

// MergeOptions are the settings of a [Merge]: see [Options].
type MergeOptions struct {
	Sinks []float32
	LSE   Tensor
	Tier  string
}

// Merge folds blocks of keys into a result: out is [B, H, Lq, Dv]. parts are the
// outcomes of [AttentionPartials] or [Accumulate] for the same queries, in the order
// of their keys. The bits are those of one call of [Attention] with
// all keys.
func Merge(out Tensor, parts []Partials, opts MergeOptions) error {
	t, err := tierFor(opts.Tier)
	if err != nil {
		return err
	}
	if err := validateMerge(&out, parts, &opts); err != nil {
		return err
	}
	m := mergers.get()
	m.tier, m.kern, m.out, m.parts, m.opts = t, &t.panels[0], out, parts, opts
	m.fit(out.shape[3])
	for b := range out.shape[0] {
		for h := range out.shape[1] {
			for i := range out.shape[2] {
				m.row(b, h, i)
			}
		}
	}
	m.out, m.parts, m.opts = Tensor{}, nil, MergeOptions{}
	mergers.put(m)
	return nil
}

// A merger merges row by row, with the elements of a row in the lanes of a panel.
type merger struct {
	tier  *tier
	kern  *panelKernels
	out   Tensor
	parts []Partials
	opts  MergeOptions

	o                     []float32 // a row, up to the end of the last vector
	in, alpha, beta, zero [maxLanes]float32
	max, sum              float32
}

var mergers = freeList[merger]{make: func() *merger { return new(merger) }}

// fit makes room for rows of dv elements.
func (m *merger) fit(dv int) {
	n := ceilDiv(dv, m.kern.lanes) * m.kern.lanes
	if cap(m.o) < n {
		m.o = make([]float32, n)
	}
	m.o = m.o[:n]
}

func (m *merger) row(b, h, i int) {
	m.max, m.sum = negInf[0], 0
	clear(m.o)
	r := (b*m.out.shape[1]+h)*m.out.shape[2] + i
	for x := range m.parts {
		p := &m.parts[x]
		rows := p.Batch * p.Heads * p.Queries
		for n := range p.Blocks {
			at := n*rows + r
			m.fold(p.Max[at], p.Sum[at], p.Out[at*p.HeadSize:][:p.HeadSize])
		}
	}
	if m.opts.Sinks != nil {
		m.fold(log2Units(m.opts.Sinks[h]), 1, nil)
	}
	row := m.o[:m.out.shape[3]]
	m.finish(row)
	m.tier.store(&m.out, m.out.at(b, h, i), row)
	if m.opts.LSE.isSet() {
		value := lse(m.max, m.sum)
		if row[0] != row[0] {
			value = canonicalNaN
		}
		m.opts.LSE.row(b, h, i)[0] = value
	}
}

// fold folds a block in; without values, the sink.
func (m *merger) fold(max, sum float32, o []float32) {
	top := max
	if !(top > m.max) {
		top = m.max
	}
	z := top
	if z == negInf[0] {
		z = 0
	}
	a, b := fallback.Exp2(m.max-z), fallback.Exp2(max-z)
	m.sum = fallback.FMA(sum, b, float32(m.sum*a))
	m.max = top
	lanes := m.kern.lanes
	fill(m.alpha[:lanes], a)
	fill(m.beta[:lanes], b)
	for e := 0; e < len(m.o); e += lanes {
		in := m.zero[:lanes]
		if o != nil {
			in = m.in[:lanes]
			clear(in[copy(in, o[e:]):])
		}
		m.kern.tileFold(m.o[e:], lanes, ones[:1], 1, 1, in, lanes, 1, 1, m.alpha[:lanes], m.beta[:lanes])
	}
}

// finish makes the folded values a result, in place.
func (m *merger) finish(row []float32) {
	inv := float32(0)
	if m.sum != 0 {
		inv = 1 / m.sum
	}
	nan := false
	for e := range row {
		row[e] = float32(row[e]*inv) + 0
		nan = nan || row[e] != row[e]
	}
	if nan {
		fill(row, canonicalNaN)
	}
}
