package born

import (
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/born-ml/born/backend/cpu"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/nn"
	"github.com/born-ml/born/tensor"
)

// A Backend is Born's CPU backend with packed weights. [Backend.Pack] packs the weights of
// a layer. From then on, x.MatMul(w.Transpose()) with these weights, which is what Born's
// nn.Linear computes, neither transposes nor packs them anew.
//
// Weights are known by the tensor that holds them. The packed form is a copy: after the
// weights have changed, by training or by loading others into the layer, call Pack again.
// It takes 8 bytes of memory for a weight, besides the 4 that Born has: one copy for linear
// layers, and one that is transposed, for whatever else a program does with w.Transpose().
// The memory is free after [Backend.Unpack], or when the backend is no longer in use.
//
// A Backend may be used by several goroutines at once.
type Backend struct {
	*cpu.Backend
	exec kernel.Exec

	mu         sync.RWMutex
	weights    map[*tensor.RawTensor]packed         // by a layer's weights
	transposed map[*tensor.RawTensor]*linear.Linear // by packed.transposed
}

// packed is what the weights of a layer, [out, in], were packed into.
type packed struct {
	layer      *linear.Linear
	transposed *tensor.RawTensor // [in, out]
}

// NewBackend returns a Backend without packed weights. exec says how products with packed
// weights are executed; the zero value is the best tier on all threads.
func NewBackend(exec kernel.Exec) *Backend {
	return &Backend{
		Backend:    cpu.New(),
		exec:       exec,
		weights:    map[*tensor.RawTensor]packed{},
		transposed: map[*tensor.RawTensor]*linear.Linear{},
	}
}

// Pack packs the weights of layers, again if they are packed already. Biases are not packed: Born
// adds them itself. An error comes from linear.New; the layers before are packed then.
func (b *Backend) Pack(layers ...*nn.Linear[*Backend]) error {
	for _, l := range layers {
		w := l.Weight().Tensor().Raw()
		n, k := l.OutFeatures(), l.InFeatures()
		layer, err := linear.New(linear.DenseMatrix(w.AsFloat32(), n, k), nil, kernel.Exec{})
		if err != nil {
			return err
		}
		t, err := transpose(w, n, k)
		if err != nil {
			return err
		}
		b.mu.Lock()
		delete(b.transposed, b.weights[w].transposed)
		b.weights[w] = packed{layer, t}
		b.transposed[t] = layer
		b.mu.Unlock()
	}
	return nil
}

// transpose returns the transposed tensor of weights. It goes through tiles that fit the
// cache, which Born's own Transpose does not: that takes seconds for a large model.
func transpose(w *tensor.RawTensor, n, k int) (*tensor.RawTensor, error) {
	const tile = 32
	result, err := tensor.NewRaw(tensor.Shape{k, n}, tensor.Float32, tensor.CPU)
	if err != nil {
		return nil, err
	}
	dst, src := result.AsFloat32(), w.AsFloat32()
	for row := 0; row < n; row += tile {
		for col := 0; col < k; col += tile {
			for i := row; i < min(row+tile, n); i++ {
				for j := col; j < min(col+tile, k); j++ {
					dst[j*n+i] = src[i*k+j]
				}
			}
		}
	}
	result.ForceNonUnique() // or Born's operations would write their results into it
	return result, nil
}

// Unpack frees the packed weights of layers. Layers that are not packed are passed over.
func (b *Backend) Unpack(layers ...*nn.Linear[*Backend]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range layers {
		w := l.Weight().Tensor().Raw()
		delete(b.transposed, b.weights[w].transposed)
		delete(b.weights, w)
	}
}

// PackLlama packs all linear layers of a model. Errors come from [Backend.Pack].
func (b *Backend) PackLlama(m *llama.Model[*Backend]) error { return b.Pack(LlamaLayers(m)...) }

// LlamaLayers returns the linear layers of a model, for [Backend.Pack] and [Backend.Unpack].
func LlamaLayers(m *llama.Model[*Backend]) []*nn.Linear[*Backend] {
	var all []*nn.Linear[*Backend]
	for _, l := range m.Layers {
		all = append(all, l.QProj, l.KProj, l.VProj, l.OProj, l.FFN.GateProj(), l.FFN.UpProj(), l.FFN.DownProj())
	}
	return append(all, m.Head)
}

// Transpose transposes as Born's CPU backend does. It does not make the transposed tensor of packed
// weights anew, and no operation changes that tensor.
func (b *Backend) Transpose(t *tensor.RawTensor, axes ...int) *tensor.RawTensor {
	if len(t.Shape()) == 2 && (len(axes) == 0 || len(axes) == 2 && axes[0] == 1 && axes[1] == 0) {
		b.mu.RLock()
		p, ok := b.weights[t]
		b.mu.RUnlock()
		if ok {
			return p.transposed
		}
	}
	return b.Backend.Transpose(t, axes...)
}

// MatMul multiplies as Born's CPU backend does. If w is the transposed tensor of packed weights,
// the product has the bits of linear.Linear.
func (b *Backend) MatMul(x, w *tensor.RawTensor) *tensor.RawTensor {
	b.mu.RLock()
	layer, ok := b.transposed[w]
	b.mu.RUnlock()
	if !ok {
		return b.Backend.MatMul(x, w)
	}
	n, k := layer.Shape()
	s := x.Shape()
	if len(s) != 2 || s[1] != k || x.DType() != tensor.Float32 {
		return b.Backend.MatMul(x, w) // reports what is wrong
	}
	out, err := tensor.NewRaw(tensor.Shape{s[0], n}, tensor.Float32, tensor.CPU)
	if err != nil {
		panic(err)
	}
	err = layer.Apply(linear.DenseMatrix(out.AsFloat32(), s[0], n), linear.DenseMatrix(x.AsFloat32(), s[0], k), linear.Options{Exec: b.exec})
	if err != nil {
		panic(err)
	}
	return out
}
