package tensors

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/inventory"
	"github.com/attn-go/attn/models/precision"
)

// A Pack says how weights of linear layers are kept. The zero Pack keeps them as the file
// has them: in blocks, of 16 bits or of float32.
type Pack struct {
	Widen bool        // blocks become float32, and weights of different types that are joined, too, so that parts are one layer
	Order []int       // column i of states is column Order[i] of the file; with Widen. nil: the same
	Exec  kernel.Exec // of packing

	// Precision is what weights that are no blocks are rounded to: with Int8 to blocks of 8 bits;
	// with Widen.
	Precision precision.Precision
}

// Int8 reports whether weights are rounded to 8 bits.
func (p *Pack) Int8() bool { return p.Precision == precision.Int8 }

// A Side says what states of tokens are to a linear layer.
type Side int

const (
	Inner  Side = iota // neither its inputs nor its outputs: Order does not matter
	Reads              // its inputs
	Writes             // its outputs
)

// A Part is rows of the tensor NAME.weight, whose outputs follow the outputs of the part before it.
type Part struct {
	Name  string
	Shape []int     // of the tensor: [outputs, inputs], or [experts, outputs, inputs]
	First int       // its first row, among the rows of all experts
	Rows  int       // 0 is all
	Bias  arch.Bias // whether there is NAME.bias, of the shape without inputs: files that have one that is Absent are in error
}

// A Linear is linear layers of one input, whose outputs lie side by side.
type Linear struct {
	Parts []*linear.Linear
	N     int // outputs of all parts
}

// One returns the layer of parts that are joined to one, nil if nothing was read.
func (l Linear) One() *linear.Linear {
	if len(l.Parts) == 0 {
		return nil
	}
	return l.Parts[0]
}

// weights are a part that has been found.
type weights struct {
	*tensor
	name        string
	first, n, k int
	kept        gguf.Type // a type of blocks, F16, BF16 or F32
	bias, scale []float32 // scale is one beside the blocks of NVFP4, or none
}

// Linear makes linear layers of parts with the same inputs. Those that are kept in one
// type become one layer, as one large product is faster than several.
func (r *Reader) Linear(side Side, parts ...Part) (l Linear) {
	var all []*weights
	for _, p := range parts {
		w, ok := r.weights(p)
		if !ok && r.Dry == nil {
			return Linear{}
		} else if ok {
			all = append(all, w)
			l.N += w.n
		}
	}
	if r.Pack.Widen {
		widen(all)
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].kept == all[0].kept && all[n].kept != affine && (r.Pack.Widen || (all[n].bias == nil) == (all[0].bias == nil)) {
			n++
		}
		if one := r.pack(side, all[:n]); one != nil {
			l.Parts = append(l.Parts, one)
		}
		all = all[n:]
	}
	return l
}

// widen makes float32 weights of different types, or of blocks.
func widen(all []*weights) {
	dense := func(w *weights) bool { _, ok := dtypes[w.kept]; return ok && w.kept == all[0].kept }
	for _, w := range all {
		if !dense(w) {
			for _, w := range all {
				w.kept = gguf.F32
			}
			return
		}
	}
}

// weights finds the tensors of a part, all of them if nothing is read, so that each is
// reported once.
func (r *Reader) weights(p Part) (*weights, bool) {
	outputs, k := p.Shape[:len(p.Shape)-1], p.Shape[len(p.Shape)-1]
	rows := inventory.Elements(outputs)
	w := &weights{name: p.Name, first: p.First, n: cmp.Or(p.Rows, rows), k: k}
	t, ok := r.find(p.Name+".weight", nil, p.Shape...)
	if p.Bias == arch.Present || p.Bias == arch.AsFiles && r.Has(p.Name+".bias") {
		w.bias = r.rows(p.Name+".bias", w.first, w.n, outputs...)
	}
	if !ok {
		return nil, false
	}
	w.tensor, w.kept = t, t.Type
	_, blocks := t.Type.Format()
	if _, ok := dtypes[t.Type]; !ok && !blocks {
		w.kept = gguf.F32 // the only form that has its weights
	}
	if m := w.integers(); m != nil && !r.Pack.Widen && w.n == m.n {
		w.kept = affine
	}
	if t.Type == gguf.NVFP4 && !r.Pack.Widen {
		experts := 1
		if len(outputs) > 1 {
			experts = outputs[0]
		}
		w.scale = r.scale(p.Name, experts, w.first/(rows/experts))
	}
	return w, true
}

// affine stands for integers with scales and zero points, which are packed as such.
const affine gguf.Type = math.MaxUint32 - 1

// integers returns what makes weights of integers, nil for others.
func (w *weights) integers() *quantized {
	if m, ok := w.from.(*quantized); ok && m.Form != arch.Float8 {
		return m
	}
	return nil
}

// rows returns n numbers of a tensor, from one on. If nothing is read they are none, but not nil.
func (r *Reader) rows(name string, first, n int, shape ...int) []float32 {
	t, ok := r.find(name, nil, shape...)
	if !ok {
		return nil
	}
	if r.Dry != nil {
		return []float32{}
	}
	x := Numbers{Type: kernel.Float32}
	r.take(&x, t, 0, t.Bytes)
	if r.err != nil {
		return nil
	}
	return x.f32[first:][:n:n]
}

// scale returns the scale that files have beside blocks of NVFP4, or none. Scales of inputs are for
// products with inputs of 4 bits, which are not computed here.
func (r *Reader) scale(name string, experts, expert int) []float32 {
	r.Skip(name + ".input_scale")
	if !r.Has(name + ".scale") {
		return nil
	}
	return r.rows(name+".scale", expert, 1, experts)
}

// pack makes one layer of weights that are kept in one type.
func (r *Reader) pack(side Side, all []*weights) *linear.Linear {
	n, kept := 0, all[0].kept
	for _, w := range all {
		n += w.n
	}
	_, dense := dtypes[kept]
	if dense && r.Pack.Precision == precision.BFloat16 {
		r.Rounded++
	}
	switch {
	case r.err != nil:
		return nil
	case r.Dry != nil:
		r.noteLayer(all, n)
		return nil
	}
	bias, key := biasOf(all), ""
	if r.Packed != nil {
		key = r.packedKey(side, all)
	}
	l := r.Packed.Layer(key)
	if l != nil {
		for _, w := range all {
			from, to := w.span()
			r.Meter.Skip(to - from)
		}
		return l
	}
	var err error
	switch {
	case dense:
		l, err = r.packNumbers(side, all, n, bias)
	case kept == affine:
		r.Meter.Add(all[0].Bytes)
		l, err = all[0].integers().pack(bias, r.Pack.Exec)
	default:
		l, err = r.packBlocks(all, n, bias)
	}
	if err == nil && r.err == nil {
		err = r.Packed.Add(key, l)
	}
	if err != nil {
		r.Fail(fmt.Errorf("%s: %w", r.Where(r.name(all[0].name+".weight")), err))
	}
	return l
}

// noteLayer notes the memory of a layer with n outputs. Packed blocks have a bias in any case.
func (r *Reader) noteLayer(all []*weights, n int) {
	kept, k := all[0].kept, all[0].k
	dtype, dense := dtypes[kept]
	format, blocks := kept.Format()
	if dense && r.Pack.Int8() {
		format, blocks = linear.Q8_0, true
	}
	switch {
	case blocks:
		r.Dry.Memory += int64(format.PackedSize(n, k))
		return
	case dense && r.Pack.Precision == precision.BFloat16:
		r.note(kernel.BFloat16, n*k)
	case dense:
		r.note(dtype, n*k)
	default:
		r.Dry.Memory += all[0].integers().memory()
	}
	if biased(all) {
		r.note(kernel.Float32, n)
	}
}

// biased tells whether any of some weights have a bias.
func biased(all []*weights) bool {
	return slices.ContainsFunc(all, func(w *weights) bool { return w.bias != nil })
}

// biasOf returns the biases of weights, nil if none have one. Where others have one it is
// -0, which changes no sum.
func biasOf(all []*weights) (bias []float32) {
	if !biased(all) {
		return nil
	}
	none := []float32{float32(math.Copysign(0, -1))}
	for _, w := range all {
		if w.bias == nil {
			w.bias = slices.Repeat(none, w.n)
		}
		bias = append(bias, w.bias...)
	}
	return bias
}

// packBlocks packs blocks as they are.
func (r *Reader) packBlocks(all []*weights, n int, bias []float32) (*linear.Linear, error) {
	data, err := r.blocks(all)
	if err != nil {
		return nil, err
	}
	defer all[0].forget(data) // which does nothing for those that are joined
	k, format := all[0].k, linear.Format(all[0].kept)
	if format != linear.NVFP4 {
		return linear.FromBlocks(format, data, n, k, bias, r.Pack.Exec)
	}
	var scales []float32
	for _, w := range all {
		scales = append(scales, slices.Repeat(append(w.scale, 1)[:1], w.n)...)
	}
	return linear.FromNVFP4(data, scales, n, k, bias, r.Pack.Exec)
}

// span returns the bytes of the tensor that are the part.
func (w *weights) span() (from, to int64) {
	row := w.Type.Size(w.k)
	return int64(w.first) * row, int64(w.first+w.n) * row
}

// blocks returns the blocks of weights, one after the other. They are a single tensor's, or lie in
// memory that the next call uses again.
func (r *Reader) blocks(all []*weights) ([]byte, error) {
	total, as := 0, len(all) == 1 && all[0].kept == all[0].Type // whether they are as they lie
	for _, w := range all {
		total += int(w.kept.Size(w.n * w.k))
	}
	if !as && cap(r.joined) < total {
		r.joined = nil // before there is another one
		r.joined = make([]byte, 0, total)
	}
	r.joined = r.joined[:0]
	for _, w := range all {
		from, to := w.span()
		r.Meter.Add(to - from)
		raw, err := w.read(from, to, nil)
		if err != nil || as {
			return raw, err
		}
		r.joined = append(r.joined, raw...)
		w.forget(raw)
	}
	return r.joined, nil
}

// packNumbers packs numbers, in the order of the columns of states.
func (r *Reader) packNumbers(side Side, all []*weights, n int, bias []float32) (*linear.Linear, error) {
	k, x := all[0].k, &r.part
	x.reset(dtypes[all[0].kept])
	if len(all) == 1 && all[0].kept == all[0].Type && all[0].data != nil && (r.Pack.Order == nil || side == Inner) {
		from, to := all[0].span()
		y := &Numbers{Type: x.Type}
		if raw := all[0].data[from:to]; y.view(raw) {
			x = y
			r.Meter.Add(to - from)
			defer all[0].forget(raw)
		}
	}
	if x == &r.part {
		x.grow(n * k)
		for _, w := range all {
			from, to := w.span()
			r.take(x, w.tensor, from, to)
		}
		if r.err != nil {
			return nil, nil
		}
	}
	switch side {
	case Reads:
		x.PermuteColumns(r.Pack.Order)
	case Writes:
		x.permuteRows(k, r.Pack.Order)
		PermuteColumns(bias, r.Pack.Order)
	}
	pack := linear.New
	switch r.Pack.Precision {
	case precision.BFloat16:
		pack = linear.RoundBFloat16
	case precision.Int8:
		pack = linear.QuantizeInt8
	}
	return pack(x.Matrix(n, k), bias, r.Pack.Exec)
}
