package linear_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// projectLayouts are layouts of a tensor [B, H, L, D], with the number of calls of Apply
// that rows of both layouts the same take for [2, 3, 4].
var projectLayouts = []struct {
	name  string
	calls int
	view  func(b, h, l, d int) kernel.Tensor
}{
	{"BHLD", 1, func(b, h, l, d int) kernel.Tensor { return kernel.BHLD(filled(b*h*l*d, canary), b, h, l, d) }},
	{"BLHD", 1, func(b, h, l, d int) kernel.Tensor { return kernel.BLHD(filled(b*h*l*d, canary), b, l, h, d) }},
	{"gaps between batch rows", 2, func(b, h, l, d int) kernel.Tensor {
		return kernel.Strided(filled(b*(h*l*d+5), canary), [4]int{b, h, l, d}, [3]int{h*l*d + 5, l * d, d})
	}},
	{"gaps between heads", 2 * 3, func(b, h, l, d int) kernel.Tensor {
		return kernel.Strided(filled(b*(h+1)*(l*(d+1)+2), canary), [4]int{b, h, l, d}, [3]int{(h + 1) * (l*(d+1) + 2), l*(d+1) + 2, d + 1})
	}},
	{"gaps between all rows alike", 1, func(b, h, l, d int) kernel.Tensor {
		return kernel.Strided(filled(b*h*l*(d+3), canary), [4]int{b, h, l, d}, [3]int{h * l * (d + 3), l * (d + 3), d + 3})
	}},
}

// Project does row by row what Apply does, whatever the layouts, and touches nothing else.
func TestProject(t *testing.T) {
	const n, k = 5, 7
	r := rng(1)
	w, bias := make([]float32, n*k), make([]float32, n)
	r.fill(w)
	r.fill(bias)
	layer, err := linear.New(linear.DenseMatrix(w, n, k), bias)
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range [][3]int{{2, 3, 4}, {1, 3, 4}, {2, 1, 4}, {2, 3, 1}, {1, 1, 1}, {2, 0, 4}, {0, 3, 4}} {
		for _, from := range projectLayouts {
			for _, to := range projectLayouts {
				name := fmt.Sprintf("%v, %s to %s", shape, from.name, to.name)
				x, out := from.view(shape[0], shape[1], shape[2], k), to.view(shape[0], shape[1], shape[2], n)
				eachRow(&x, func(_, _, _ int, row []float32) { r.fill(row) })
				if err := layer.Project(out, x, linear.Options{}); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				written := 0
				eachRow(&out, func(b, h, l int, row []float32) {
					want := make([]float32, n)
					if err := layer.Apply(linear.DenseMatrix(want, 1, n), linear.DenseMatrix(rowOf(&x, b, h, l), 1, k), linear.Options{}); err != nil {
						t.Fatal(err)
					}
					for e := range want {
						if row[e] != want[e] {
							t.Fatalf("%s: element (%d, %d, %d, %d) is %v, want %v", name, b, h, l, e, row[e], want[e])
						}
					}
					written += n
				})
				for _, e := range out.f32 {
					if e != canary {
						written--
					}
				}
				if written != 0 {
					t.Fatalf("%s: %d elements between the rows were written to", name, -written)
				}
			}
		}
	}
}

// Rows at equal distances are one matrix.
func TestProjectMerges(t *testing.T) {
	for _, l := range projectLayouts {
		x, out := l.view(2, 3, 4, 5), l.view(2, 3, 4, 6)
		outer, middle, rows := rowsOfBoth(&out.grid, &x.grid)
		if calls := outer.n * middle.n; calls != l.calls || calls*rows.n != 2*3*4 {
			t.Errorf("%s: %d calls with %d rows, want %d", l.name, calls, rows.n, l.calls)
		}
	}
}

func TestProjectErrors(t *testing.T) {
	layer, err := linear.New(linear.DenseMatrix(make([]float32, 6), 3, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := filled(24, canary)
	out, x := kernel.BHLD(memory[:12], 1, 2, 2, 3), kernel.BHLD(memory[12:20], 1, 2, 2, 2)
	for _, c := range []struct {
		arg    string
		out, x kernel.Tensor
		opts   linear.Options
	}{
		{"x", out, kernel.Tensor{}, linear.Options{}},
		{"x", out, kernel.BHLD(memory[12:], 1, 2, 2, 3), linear.Options{}},
		{"x", out, kernel.BHLD(make([]kernel.F16, 8), 1, 2, 2, 2), linear.Options{}},
		{"x", out, kernel.BHLD(memory[12:19], 1, 2, 2, 2), linear.Options{}},
		{"out", kernel.Tensor{}, x, linear.Options{}},
		{"out", kernel.BHLD(make([]kernel.F16, 12), 1, 2, 2, 3), x, linear.Options{}},
		{"out", kernel.BHLD(memory, 1, 2, 2, 2), x, linear.Options{}},
		{"out", kernel.BHLD(memory[4:], 1, 2, 2, 3), x, linear.Options{}},
		{"out", kernel.Strided(memory, [4]int{1, 2, 2, 3}, [3]int{0, 2, 3}), x, linear.Options{}},
		{"LinearOptions.Threads", out, x, linear.Options{Exec: kernel.Exec{Threads: -1}}},
	} {
		err := layer.Project(c.out, c.x, c.opts)
		if bad, ok := err.(*kernel.ArgumentError); !ok || bad.Arg != c.arg {
			t.Errorf("got %v, want an error about %s", err, c.arg)
		}
		for _, e := range memory {
			if e != canary {
				t.Fatalf("a call with a bad %s wrote to memory", c.arg)
			}
		}
	}
	if _, ok := layer.Project(out, x, linear.Options{Exec: kernel.Exec{Tier: "mmx"}}).(*kernel.TierError); !ok {
		t.Error("an unknown tier is no error")
	}
}
