package born

import (
	"github.com/attn-go/attn/kernel"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/tensor"
)

// Attention returns causal attention for the option WithAttentionFunc of models/llama. Its
// tensors are
//
//	q       [batch, heads, queries, D]
//	k, v    [batch, heads, keys, D]; the heads may be fewer, if their number divides q's
//	result  [batch, heads, queries, D], and no weights
//
// The queries are the last of the keys: query i sees the first keys - queries + i + 1 keys. The
// mask that Born passes is ignored. It says the same if there are as many queries as keys. For
// several queries that continue a cache, Born makes a mask that does not have the shape of the
// scores, and its own attention panics.
//
// A scale of 0 means 1/√D. The function may be called by several goroutines at once.
func Attention[B tensor.Backend](exec kernel.Exec) llama.AttentionFunc[B] {
	return func(q, k, v, _ *tensor.Tensor[float32, B], scale float32) (out, weights *tensor.Tensor[float32, B]) {
		past := view("k", k).Shape()[2] - view("q", q).Shape()[2]
		return attend(q, k, v, kernel.Options{Exec: exec, Scoring: kernel.Scoring{Scale: scale, Mask: kernel.Causal(past)}}), nil
	}
}

// SDPA returns a function like Born's nn.ScaledDotProductAttention, weights included. The tensors
// are as for [Attention], and
//
//	mask     nil, or [batch, heads, queries, keys]: is added to the scores; leading
//	         dimensions may be missing, and all but the last may be 1
//	weights  [batch, heads, queries, keys]
//
// A query from which the mask hides all keys by -Inf gets zeros, and not NaN.
func SDPA[B tensor.Backend](exec kernel.Exec) llama.AttentionFunc[B] {
	return func(q, k, v, mask *tensor.Tensor[float32, B], scale float32) (out, weights *tensor.Tensor[float32, B]) {
		opts := kernel.Options{Exec: exec, Scoring: kernel.Scoring{Scale: scale}}
		queries, keys := view("q", q).Shape(), view("k", k).Shape()
		if mask != nil {
			opts.Bias = bias(mask, keys[2])
		}
		weights, opts.Weights = empty(tensor.Shape{queries[0], queries[1], queries[2], keys[2]}, q.Backend())
		return attend(q, k, v, opts), weights
	}
}

// attend returns attention as a new tensor.
func attend[B tensor.Backend](q, k, v *tensor.Tensor[float32, B], opts kernel.Options) *tensor.Tensor[float32, B] {
	qv, kv, vv := view("q", q), view("k", k), view("v", v)
	shape := qv.Shape()
	result, out := empty(tensor.Shape{shape[0], shape[1], shape[2], vv.Shape()[3]}, q.Backend())
	if err := kernel.Attention(out, qv, kv, vv, &opts); err != nil {
		panic(err)
	}
	return result
}

// view returns a tensor of four dimensions as package kernel sees it. Born keeps all tensors
// contiguous.
func view[B tensor.Backend](name string, t *tensor.Tensor[float32, B]) kernel.Tensor {
	s := t.Shape()
	if len(s) != 4 {
		panic(shapeError(name, s, "four dimensions: [batch, heads, tokens, head size]"))
	}
	return kernel.BHLD(t.Data(), s[0], s[1], s[2], s[3])
}

// bias returns a mask as a bias with the given number of keys.
func bias[B tensor.Backend](mask *tensor.Tensor[float32, B], keys int) kernel.Tensor {
	s := mask.Shape()
	if len(s) < 1 || len(s) > 4 || s[len(s)-1] != keys {
		panic(shapeError("mask", s, "up to four dimensions, of which the last is the number of keys"))
	}
	full := [4]int{1, 1, 1, 1}
	copy(full[4-len(s):], s)
	return kernel.BHLD(mask.Data(), full[0], full[1], full[2], full[3])
}

// empty allocates a tensor and returns it as Born and as package kernel see it.
func empty[B tensor.Backend](shape tensor.Shape, backend B) (*tensor.Tensor[float32, B], kernel.Tensor) {
	raw, err := tensor.NewRaw(shape, tensor.Float32, tensor.CPU)
	if err != nil {
		panic(err)
	}
	return tensor.New[float32, B](raw, backend), kernel.BHLD(raw.AsFloat32(), shape[0], shape[1], shape[2], shape[3])
}
