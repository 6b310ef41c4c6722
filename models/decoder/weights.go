package decoder

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/decoder/internal/stores"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/littleendian"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/inventory"
)

// loader takes tensors out of a store. The first error stays; after it, results are not used.
type loader struct {
	stores.Store
	exec    kernel.Exec          // of the layers' packing
	lessOne bool                 // norms lack 1
	joined  []byte               // the tensors of a layer, one after the other
	meter   *loading.Meter       // nil if nothing is read
	passed  []gguf.Tensor        // that were taken since the last call of done
	dry     *inventory.Inventory // if not nil, nothing is read, and this notes what would be
	err     error
}

// fail records an error.
func (l *loader) fail(err error) {
	if l.dry != nil && l.err == nil {
		l.err = l.dry.Problem(err)
	} else if l.err == nil {
		l.err = err
	}
}

// tensor returns a tensor of a shape.
func (l *loader) tensor(name string, shape ...int) (gguf.Tensor, bool) {
	t, err := l.Store.Tensor(name, shape...)
	if err != nil {
		l.fail(err)
	}
	l.passed = append(l.passed, t)
	return t, err == nil
}

// done tells that the tensors so far are copied.
func (l *loader) done() {
	bytes := int64(0)
	for _, t := range l.passed {
		bytes += int64(len(t.Data))
		l.Forget(t)
	}
	clear(l.passed)
	l.passed = l.passed[:0]
	l.meter.Add(bytes)
}

// floats returns the numbers of a tensor.
func (l *loader) floats(name string, shape ...int) []float32 {
	t, ok := l.tensor(name, shape...)
	if !ok {
		return nil
	}
	if l.dry != nil {
		l.dry.Floats(shape...)
		return nil
	}
	x, err := t.Float32()
	if err != nil {
		l.fail(fmt.Errorf("decoder: tensor %q: %w", t.Name, err))
	}
	return x
}

// norm returns the weights of a norm.
func (l *loader) norm(name string, n int) []float32 {
	x := l.floats(name+".weight", n)
	if l.lessOne {
		for i := range x {
			x[i]++
		}
	}
	return x
}

// A source is the weights, and the bias if there is one, of a layer with n outputs.
type source struct {
	name string // without .weight and .bias
	n    int
	bias arch.Bias
}

// A projection is linear layers of one input, whose outputs lie side by side.
type projection struct {
	parts []*linear.Linear
	n     int // outputs of all parts
}

// A matrix is the weights of a layer, and its bias if there is one.
type matrix struct {
	tensor gguf.Tensor
	bias   []float32
	scale  []float32 // one beside the blocks of NVFP4, or none
}

// projection loads layers with k inputs and joins them.
func (l *loader) projection(k int, sources ...source) projection {
	var all []matrix
	for _, s := range sources {
		t, ok := l.tensor(s.name+".weight", s.n, k)
		if !ok {
			return projection{}
		}
		w := matrix{tensor: t}
		w.scale = l.scales(s.name, t.Type, 1)
		if s.bias == arch.Present || s.bias == arch.AsFiles && l.Has(s.name+".bias") {
			w.bias = l.floats(s.name+".bias", s.n)
		}
		all = append(all, w)
	}
	return l.join(k, all...)
}

// scales returns the scales of n matrices of NVFP4 that files have beside their blocks, nil without them. Those of
// inputs are for products with inputs of 4 bits, which are not computed here.
func (l *loader) scales(name string, t gguf.Type, n int) []float32 {
	if t != gguf.NVFP4 {
		return nil
	}
	l.Skip(name + ".input_scale")
	if !l.Has(name + ".scale") {
		return nil
	}
	return l.floats(name+".scale", n)
}

// join makes a projection of layers with k inputs. Those of one type become one layer, as one large
// product is faster than several.
func (l *loader) join(k int, all ...matrix) (p projection) {
	var tensors []gguf.Tensor
	var bias, scales []float32
	flush := func() {
		if l.dry != nil {
			l.note(tensors)
		} else if len(tensors) > 0 && l.err == nil {
			part, err := l.newLinear(tensors, k, bias, scales)
			if err != nil {
				l.fail(fmt.Errorf("decoder: tensor %q: %w", tensors[0].Name, err))
			}
			p.parts = append(p.parts, part)
		}
		tensors, bias, scales = nil, nil, nil
	}
	for _, w := range all {
		if len(tensors) > 0 && (storage(w.tensor.Type) != storage(tensors[0].Type) || (w.bias != nil) != (bias != nil)) {
			flush()
		}
		tensors = append(tensors, w.tensor)
		bias = append(bias, w.bias...)
		if w.tensor.Type == gguf.NVFP4 {
			scales = append(scales, slices.Repeat(append(w.scale, 1)[:1], w.tensor.Shape[0])...)
		}
		p.n += w.tensor.Shape[0]
	}
	flush()
	return p
}

// storage returns the type in which weights of a type are kept.
func storage(t gguf.Type) gguf.Type {
	if _, ok := t.Format(); ok || t == gguf.F16 || t == gguf.BF16 {
		return t
	}
	return gguf.F32
}

// newLinear makes one layer with k inputs of weights of one storage type, one tensor below
// the other. Scales are those of NVFP4, one for each output.
func (l *loader) newLinear(tensors []gguf.Tensor, k int, bias, scales []float32) (*linear.Linear, error) {
	switch kind := storage(tensors[0].Type); kind {
	case gguf.F16:
		return newHalf[kernel.F16](l, tensors, k, bias)
	case gguf.BF16:
		return newHalf[kernel.BF16](l, tensors, k, bias)
	case gguf.F32:
		return l.newFloat(tensors, k, bias)
	case gguf.NVFP4:
		return linear.FromNVFP4(l.bytes(tensors), scales, len(scales), k, bias, l.exec)
	default:
		return l.newQuantized(linear.Format(kind), tensors, k, bias)
	}
}

// newQuantized is newLinear for weights in blocks.
func (l *loader) newQuantized(format linear.Format, tensors []gguf.Tensor, k int, bias []float32) (*linear.Linear, error) {
	n := 0
	for _, t := range tensors {
		n += t.Shape[0]
	}
	return linear.FromBlocks(format, l.bytes(tensors), n, k, bias, l.exec)
}

// bytes returns the data of tensors, one after the other, which are those of one tensor or lie in memory that the next call uses again.
func (l *loader) bytes(tensors []gguf.Tensor) []byte {
	if len(tensors) == 1 {
		return tensors[0].Data
	}
	n := 0
	for _, t := range tensors {
		n += len(t.Data)
	}
	if cap(l.joined) < n {
		l.joined = nil // before there is another one
		l.joined = make([]byte, 0, n)
	}
	l.joined = l.joined[:0]
	for _, t := range tensors {
		l.joined = append(l.joined, t.Data...)
		l.Forget(t)
	}
	return l.joined
}

// newFloat is newLinear for weights of float32. Types that cannot be computed from are errors.
func (l *loader) newFloat(tensors []gguf.Tensor, k int, bias []float32) (*linear.Linear, error) {
	if !slices.ContainsFunc(tensors, func(t gguf.Tensor) bool { return t.Type != gguf.F32 }) {
		x := wordsOf[float32](l.bytes(tensors))
		return linear.New(linear.DenseMatrix(x, len(x)/k, k), bias, l.exec)
	}
	var all []float32
	for _, t := range tensors {
		x, err := t.Float32()
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = x
		} else {
			all = append(all, x...)
		}
	}
	return linear.New(linear.DenseMatrix(all, len(all)/k, k), bias, l.exec)
}

// newHalf is newLinear for weights of 16 bits.
func newHalf[E kernel.F16 | kernel.BF16](l *loader, tensors []gguf.Tensor, k int, bias []float32) (*linear.Linear, error) {
	x := wordsOf[E](l.bytes(tensors))
	return linear.New(linear.DenseMatrix(x, len(x)/k, k), bias, l.exec)
}

// wordsOf returns the numbers of data, as they lie there if they can be used so.
func wordsOf[E kernel.Float](data []byte) []E {
	if x, ok := littleendian.View[E](data); ok {
		return x
	}
	return littleendian.Append([]E(nil), data)
}
