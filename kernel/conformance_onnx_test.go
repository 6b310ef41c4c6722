package kernel_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// attention is ONNX's operator in terms of this package. It returns the outputs
// by their slots: scores only if the case has them.
func (c *onnxCase) attention(tier kernel.Tier) (out [onnxOutputs][]float32, err error) {
	q, err1 := c.heads(onnxQ, "q_num_heads")
	newK, err2 := c.heads(onnxK, "kv_num_heads")
	newV, err3 := c.heads(onnxV, "kv_num_heads")
	if err := errors.Join(err1, err2, err3); err != nil {
		return out, err
	}
	k, err1 := c.present(onnxPastKey, newK)
	v, err2 := c.present(onnxPastValue, newV)
	o, err3 := c.options(q.Shape()[2], k.Shape()[2]-newK.Shape()[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		return out, err
	}
	o.Tier = tier
	if c.outputs[onnxScores] != nil {
		if out[onnxScores], err = c.scores(q, k, v, &o); err != nil {
			return out, err
		}
	}
	y := c.newY(q, v)
	if err := kernel.Attention(y, q, k, v, &o); err != nil {
		return out, err
	}
	for slot, x := range [...]kernel.Tensor{onnxY: y, onnxPresentKey: k, onnxPresentValue: v} {
		out[slot] = contracttest.Floats(contracttest.Widened(x))
	}
	return out, nil
}

// heads returns an input as a tensor: [B, H, L, D], or [B, L, H·D] with the number
// of heads in an attribute.
func (c *onnxCase) heads(slot int, attr string) (kernel.Tensor, error) {
	x := c.inputs[slot]
	s, h := x.Shape, int(c.attrs[attr])
	switch {
	case len(s) == 4:
		return contracttest.As(kernel.BHLD(x.floats, s[0], s[1], s[2], s[3]), x.dtype()), nil
	case len(s) == 3 && h > 0 && s[2]%h == 0:
		return contracttest.As(kernel.BLHD(x.floats, s[0], s[1], h, s[2]/h), x.dtype()), nil
	}
	return kernel.Tensor{}, fmt.Errorf("%s: shape %v with %s = %d", x.Name, s, attr, h)
}

// newY makes an output in the operator's layout, which its input Q has too.
func (c *onnxCase) newY(q, v kernel.Tensor) kernel.Tensor {
	b, h, l, d := q.Shape()[0], q.Shape()[1], q.Shape()[2], v.Shape()[3]
	y := testutil.Filled(b*h*l*d, contracttest.Canary)
	if len(c.inputs[onnxQ].Shape) == 3 {
		return contracttest.As(kernel.BLHD(y, b, l, h, d), q.DType())
	}
	return contracttest.As(kernel.BHLD(y, b, h, l, d), q.DType())
}

// present returns the past, if there is any, with the new rows after it.
func (c *onnxCase) present(slot int, fresh kernel.Tensor) (kernel.Tensor, error) {
	b, h, l, d := fresh.Shape()[0], fresh.Shape()[1], fresh.Shape()[2], fresh.Shape()[3]
	past := kernel.BHLD([]float32{}, b, h, 0, d)
	if x := c.inputs[slot]; x != nil {
		if s := x.Shape; len(s) != 4 || s[0] != b || s[1] != h || s[3] != d {
			return kernel.Tensor{}, fmt.Errorf("%s: shape %v before %v", x.Name, s, fresh.Shape())
		}
		past = kernel.BHLD(x.floats, b, h, x.Shape[2], d)
	}
	n := past.Shape()[2]
	all := kernel.BHLD(make([]float32, b*h*(n+l)*d), b, h, n+l, d)
	contracttest.EachRow(&all, func(b, h, j int, row []float32) {
		if j < n {
			copy(row, contracttest.Row(&past, b, h, j))
		} else {
			copy(row, contracttest.Row(&fresh, b, h, j-n))
		}
	})
	return contracttest.As(all, fresh.DType()), nil
}

// attr returns an attribute, or what it is by default.
func (c *onnxCase) attr(name string, def float64) float64 {
	if x, ok := c.attrs[name]; ok {
		return x
	}
	return def
}

// options translates attributes, mask and lengths.
func (c *onnxCase) options(queries, past int) (o kernel.Options, err error) {
	if c.attr("scale", 1) == 0 {
		return o, errors.New("a scale of 0")
	}
	// In float32 whatever is asked for: 1 is float, 10 float16, 11 double, 16 bfloat16.
	if p := c.attr("softmax_precision", 1); !slices.Contains([]float64{1, 10, 11, 16}, p) {
		return o, fmt.Errorf("softmax_precision %v", p)
	}
	o.Scale, o.Softcap = float32(c.attr("scale", 0)), float32(c.attr("softcap", 0))
	o.QueryStart = []int{past}
	if x := c.inputs[onnxLengths]; x != nil {
		if past != 0 {
			return o, fmt.Errorf("%s besides a past", x.Name)
		}
		o.Mask = kernel.KeyLengths(x.ints)
		o.QueryStart = nil
		for _, n := range x.ints {
			o.QueryStart = append(o.QueryStart, n-queries)
		}
	}
	if c.attr("is_causal", 0) != 0 {
		o.Mask = o.Mask.And(kernel.Causal(0))
	}
	o.Mask = o.Mask.And(kernel.Window(int(c.attr("left_window_size", -1)), int(c.attr("right_window_size", -1))))
	return o, c.mask(&o)
}

// mask adds attn_mask, of up to four dimensions, the last of which may be shorter
// than the keys.
func (c *onnxCase) mask(o *kernel.Options) error {
	x := c.inputs[onnxMask]
	if x == nil {
		return nil
	}
	if len(x.Shape) > 4 {
		return fmt.Errorf("%s: shape %v", x.Name, x.Shape)
	}
	shape := [4]int{1, 1, 1, 1}
	copy(shape[4-len(x.Shape):], x.Shape)
	switch x.DType {
	case "bool":
		o.Mask = o.Mask.And(kernel.Visible(x.bools, shape))
	case "float32", "float16":
		o.Bias = contracttest.As(kernel.BHLD(x.floats, shape[0], shape[1], shape[2], shape[3]), x.dtype())
	default:
		return fmt.Errorf("%s: a mask of %s", x.Name, x.DType)
	}
	return nil
}

// scores returns the output qk_matmul_output.
func (c *onnxCase) scores(q, k, v kernel.Tensor, o *kernel.Options) ([]float32, error) {
	b, h, l, keys := q.Shape()[0], q.Shape()[1], q.Shape()[2], k.Shape()[2]
	s := testutil.Filled(b*h*l*keys, contracttest.Canary)
	t := kernel.BHLD(s, b, h, l, keys)
	switch mode := c.attr("qk_matmul_output_mode", 0); mode {
	case 0, 1: // of all keys, also those past a length, which a call with lengths does not read
		return s, kernel.Attention(c.newY(q, v), q, k, v, &kernel.Options{Scoring: kernel.Scoring{Scale: o.Scale, Softcap: o.Softcap}, Outputs: kernel.Outputs{Scores: t, ScoreStage: kernel.ScoreStage(mode)}, Exec: kernel.Exec{Tier: o.Tier}})
	case 2:
		o.Scores, o.ScoreStage = t, kernel.ScoresMasked
	case 3:
		o.Weights = t
	default:
		return nil, fmt.Errorf("qk_matmul_output_mode %v", mode)
	}
	return s, nil
}
