package contracttest

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// A Case is a full call with its data, which the seed determines.
type Case struct {
	B, H, HKV, Lq, Lk, D, Dv int
	Scale                    float32
	Mask                     Mask
	Layout                   Layout
	Types                    Types
	Seed                     uint64
}

// Layout says how a case's tensors lie in memory.
type Layout int

const (
	Contiguous Layout = iota // BHLD
	TokenMajor               // BLHD
	Gaps                     // BHLD with gaps between rows, heads, batches and before the start
	Layouts                  // the number of layouts
)

// Types are the element types of a call's tensors.
type Types struct{ Q, K, V, Out kernel.DType }

// TypesOf returns the types of q, k, v and out.
func TypesOf(q, k, v, out kernel.DType) Types { return Types{q, k, v, out} }

// Uniform returns one type for all four.
func Uniform(t kernel.DType) Types { return Types{t, t, t, t} }

func (c Types) String() string { return fmt.Sprintf("%v,%v,%v→%v", c.Q, c.K, c.V, c.Out) }

// KeyTypes returns the types that keys and values may have.
func KeyTypes() []kernel.DType {
	return []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8, kernel.Float8E4M3, kernel.Float8E5M2, kernel.Int4}
}

// With returns the case with types, and with head sizes that they can have.
func (c Case) With(t Types) Case {
	c.Types = t
	if t.K == kernel.Int4 {
		c.D += c.D % 2
	}
	if t.V == kernel.Int4 {
		c.Dv += c.Dv % 2
	}
	return c
}

// AllTypes returns all that a call may have.
func AllTypes() (list []Types) {
	floats := []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16}
	all := KeyTypes()
	for _, q := range floats {
		for _, k := range all {
			for _, v := range all {
				for _, out := range floats {
					list = append(list, Types{q, k, v, out})
				}
			}
		}
	}
	return list
}

func (c Case) String() string {
	return fmt.Sprintf("b%d_h%d_hkv%d_lq%d_lk%d_d%d_dv%d_layout%d", c.B, c.H, c.HKV, c.Lq, c.Lk, c.D, c.Dv, c.Layout)
}

// Tensor makes a float32 tensor of the case's layout over new memory, all of it fill.
func (c Case) Tensor(b, h, l, d int, fill float32) kernel.Tensor {
	switch c.Layout {
	case TokenMajor:
		return kernel.BLHD(testutil.Filled(b*l*h*d, fill), b, l, h, d)
	case Gaps:
		sl := d + 3
		sh := l*sl + 5
		sb := h*sh + 1
		return kernel.Strided(testutil.Filled(b*sb+1, fill)[1:], [4]int{b, h, l, d}, [3]int{sb, sh, sl})
	default:
		return kernel.BHLD(testutil.Filled(b*h*l*d, fill), b, h, l, d)
	}
}

// Output makes an output with d columns, in float32 and full of canaries: [B, H, Lq, d].
func (c Case) Output(d int) kernel.Tensor { return c.Tensor(c.B, c.H, c.Lq, d, Canary) }

// Out makes the output of the case's type, full of canaries.
func (c Case) Out() kernel.Tensor { return As(c.Output(c.Dv), c.Types.Out) }

// Inputs makes the case's q, k and v in float32. What lies between rows is NaN.
func (c Case) Inputs() (q, k, v kernel.Tensor) {
	q = c.Tensor(c.B, c.H, c.Lq, c.D, testutil.NaN)
	k = c.Tensor(c.B, c.HKV, c.Lk, c.D, testutil.NaN)
	v = c.Tensor(c.B, c.HKV, c.Lk, c.Dv, testutil.NaN)
	r := testutil.Rand(c.Seed + 1)
	for _, t := range []*kernel.Tensor{&q, &k, &v} {
		EachRow(t, func(_, _, _ int, row []float32) { r.Fill(row) })
	}
	return q, k, v
}

// Typed converts the case's inputs to its types.
func (c Case) Typed(q, k, v kernel.Tensor) (tq, tk, tv kernel.Tensor) {
	return As(q, c.Types.Q), As(k, c.Types.K), As(v, c.Types.V)
}

// Options returns opts with the case's scale and mask.
func (c Case) Options(opts kernel.Options) kernel.Options {
	opts.Scale, opts.Mask = c.Scale, c.Mask.Kernel()
	return opts
}

// Run makes the call, with opts beside the case's scale and mask, and returns out. The
// test fails if a gap of out was touched.
func (c Case) Run(t testing.TB, q, k, v kernel.Tensor, opts kernel.Options) kernel.Tensor {
	t.Helper()
	out, opts := c.Out(), c.Options(opts)
	if err := kernel.Attention(out, q, k, v, &opts); err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	CheckGaps(t, &out)
	return out
}

// Model returns the model of the call with options that have the case's mask.
func (c Case) Model(q, k, v kernel.Tensor, opts *kernel.Options) *Model {
	return NewModel(q, k, v, c.Mask, opts)
}

// Contract returns what the contract says that Run returns, without further options.
func (c Case) Contract(q, k, v kernel.Tensor) kernel.Tensor {
	out := c.Output(c.Dv)
	m := c.Model(q, k, v, &kernel.Options{Scoring: kernel.Scoring{Scale: c.Scale}})
	EachRow(&out, func(b, h, i int, row []float32) { copy(row, m.Row(b, h, i).Out) })
	return As(out, c.Types.Out)
}
