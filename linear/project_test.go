package linear_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// projectLayouts are layouts of a tensor [B, H, L, D], with the number of calls of Apply
// that Project makes for [2, 3, 4] rows if both tensors have the layout.
var projectLayouts = []struct {
	name    string
	calls   int
	strides func(h, l, d int) [3]int
}{
	{"BHLD", 1, func(h, l, d int) [3]int { return [3]int{h * l * d, l * d, d} }},
	{"BLHD", 1, func(h, l, d int) [3]int { return [3]int{l * h * d, d, h * d} }},
	{"gaps between batch rows", 2, func(h, l, d int) [3]int { return [3]int{h*l*d + 5, l * d, d} }},
	{"gaps between heads", 2 * 3, func(h, l, d int) [3]int {
		head := l*(d+1) + 2
		return [3]int{(h + 1) * head, head, d + 1}
	}},
	{"equal gaps between all rows", 1, func(h, l, d int) [3]int { return [3]int{h * l * (d + 3), l * (d + 3), d + 3} }},
}

// A tensor4 is a tensor [B, H, L, D] with its memory.
type tensor4 struct {
	kernel.Tensor
	data []float32
}

// newTensor makes a tensor full of canaries, which may have gaps after its last element.
func newTensor(b, h, l, d int, strides [3]int) tensor4 {
	data := testutil.Filled(b*strides[0]+h*strides[1]+l*strides[2]+d, testutil.Canary)
	return tensor4{kernel.Strided(data, [4]int{b, h, l, d}, strides), data}
}

// eachRow calls f for all rows.
func (t *tensor4) eachRow(f func(b, h, l int, row []float32)) {
	shape := t.Shape()
	for b := range shape[0] {
		for h := range shape[1] {
			for l := range shape[2] {
				f(b, h, l, t.row(b, h, l))
			}
		}
	}
}

func (t *tensor4) row(b, h, l int) []float32 {
	s := t.Strides()
	return t.data[b*s[0]+h*s[1]+l*s[2]:][:t.Shape()[3]]
}

// Project does row by row what Apply does, whatever the layouts, and touches nothing
// else.
func TestProject(t *testing.T) {
	const n, k = 5, 7
	r := testutil.Rand(1)
	w, bias := make([]float32, n*k), make([]float32, n)
	r.Fill(w)
	r.Fill(bias)
	layer := mustNew(t, linear.DenseMatrix(w, n, k), bias)
	for _, shape := range [][3]int{{2, 3, 4}, {1, 3, 4}, {2, 1, 4}, {2, 3, 1}, {1, 1, 1}, {2, 0, 4}, {0, 3, 4}} {
		b, h, l := shape[0], shape[1], shape[2]
		for _, from := range projectLayouts {
			for _, to := range projectLayouts {
				name := fmt.Sprintf("%v, %s to %s", shape, from.name, to.name)
				x, got := newTensor(b, h, l, k, from.strides(h, l, k)), newTensor(b, h, l, n, to.strides(h, l, n))
				want := newTensor(b, h, l, n, to.strides(h, l, n))
				x.eachRow(func(_, _, _ int, row []float32) { r.Fill(row) })
				want.eachRow(func(b, h, l int, row []float32) {
					if err := layer.Apply(linear.DenseMatrix(row, 1, n), linear.DenseMatrix(x.row(b, h, l), 1, k), linear.Options{}); err != nil {
						t.Fatal(err)
					}
				})
				if err := layer.Project(got.Tensor, x.Tensor, linear.Options{}); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				contracttest.SameRow(t, name, got.data, want.data)
			}
		}
	}
}

// Rows at equal distances are one call.
func TestProjectMergesRows(t *testing.T) {
	layer := mustNew(t, linear.DenseMatrix(make([]float32, 5*6), 6, 5), nil)
	for _, layout := range projectLayouts {
		x, out := newTensor(2, 3, 4, 5, layout.strides(3, 4, 5)), newTensor(2, 3, 4, 6, layout.strides(3, 4, 6))
		calls := 0
		e := kernel.Exec{ParallelFor: func(int, func(int)) { calls++ }}
		if err := layer.Project(out.Tensor, x.Tensor, linear.Options{Exec: e}); err != nil {
			t.Fatal(err)
		}
		if calls != layout.calls {
			t.Errorf("%s: %d calls of Apply, want %d", layout.name, calls, layout.calls)
		}
	}
}

// TestProjectRagged: the rows of a ragged tensor get what they get alone, and those before and
// after them stay.
func TestProjectRagged(t *testing.T) {
	const k, n, rows = 5, 6, 9
	l := mustNew(t, linear.DenseMatrix(testutil.Floats(n*k), n, k), testutil.Floats(n))
	for _, starts := range [][]int{{0, 9}, {2, 5, 5, 8}, {0, 0}, {4, 4, 4}, {9, 9}, {1, 2, 3, 9}} {
		for heads := 1; heads <= 2; heads++ {
			data, memory := testutil.Floats(heads*rows*k), testutil.Filled(heads*rows*n, testutil.Canary)
			x, out := kernel.BLHD(data, 1, rows, heads, k), kernel.BHLD(memory, 1, heads, rows, n)
			if err := l.Project(out.Ragged(starts), x.Ragged(starts), linear.Options{}); err != nil {
				t.Fatal(err)
			}
			want := testutil.Filled(len(memory), testutil.Canary)
			first, end := starts[0], starts[len(starts)-1]
			for h := range heads {
				for r := first; r < end; r++ {
					if err := l.Apply(linear.DenseMatrix(want[(h*rows+r)*n:][:n], 1, n), linear.DenseMatrix(data[(r*heads+h)*k:][:k], 1, k), linear.Options{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			testutil.CheckBits(t, fmt.Sprint(starts, heads), memory, want)
		}
	}
}

func TestProjectErrors(t *testing.T) {
	layer := mustNew(t, linear.DenseMatrix(make([]float32, 6), 3, 2), nil)
	memory := testutil.Filled(24, testutil.Canary)
	out, x := kernel.BHLD(memory[:12], 1, 2, 2, 3), kernel.BHLD(memory[12:20], 1, 2, 2, 2)
	pages := kernel.PageTable{Pages: [][]int32{{0}}, Lengths: []int{2}}
	ragged := func(t kernel.Tensor) kernel.Tensor { return t.Ragged([]int{0, 1, 2}) }
	for _, c := range []struct {
		what      string
		out, x    kernel.Tensor
		threads   int
		arg, want string
	}{
		{"zero x", out, kernel.Tensor{}, 0, "x", "head size"},
		{"x with other inputs", out, kernel.BHLD(memory[12:], 1, 2, 2, 3), 0, "x", "rows of 2, the inputs of the layer"},
		{"x of f16", out, kernel.BHLD(make([]kernel.F16, 8), 1, 2, 2, 2), 0, "x", "float32"},
		{"short x", out, kernel.BHLD(memory[12:19], 1, 2, 2, 2), 0, "x", "at least 8 elements"},
		{"ragged x", out, ragged(x), 0, "out", "shape [2 2 1 3]"},
		{"ragged x of as many rows", kernel.BHLD(memory[:12], 2, 2, 1, 3), ragged(x), 0, "out", "ragged if x is"},
		{"paged x", out, x.Paged(&pages), 0, "x", "not paged"},
		{"zero out", kernel.Tensor{}, x, 0, "out", "head size"},
		{"out of f16", kernel.BHLD(make([]kernel.F16, 12), 1, 2, 2, 3), x, 0, "out", "float32"},
		{"out with other outputs", kernel.BHLD(memory, 1, 2, 2, 2), x, 0, "out", "shape [1 2 2 3]"},
		{"out overlaps x", kernel.BHLD(memory[4:], 1, 2, 2, 3), x, 0, "out", "overlaps x"},
		{"rows of out overlap", kernel.Strided(memory, [4]int{1, 2, 2, 3}, [3]int{0, 2, 3}), x, 0, "out", "no two elements overlap"},
		{"ragged out", ragged(out), kernel.BHLD(memory[12:20], 2, 2, 1, 2), 0, "out", "ragged if x is"},
		{"other lengths", out.Ragged([]int{0, 2, 2}), x.Ragged([]int{0, 0, 2}), 0, "out", "length 2 of batch row 0, want 0 as x has it"},
		{"paged out", out.Paged(&pages), x, 0, "out", "not paged"},
		{"threads", out, x, -1, "Options.Threads", "at least 1"},
	} {
		contracttest.CheckArgument(t, c.what, layer.Project(c.out, c.x, options(kernel.Tier{}, c.threads)), c.arg, c.want)
	}
	for _, e := range memory {
		if e != testutil.Canary {
			t.Fatal("a call that failed wrote to memory")
		}
	}
}
