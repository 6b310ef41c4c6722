package reference

import (
	"math"
	"sync"
	"testing"

	"github.com/attn-go/attn/gen/prove/expr"
)

// source is the source of package fallback, read once for all tests.
var source = sync.OnceValues(func() (*Source, error) { return Load("../../..", "./fallback") })

func newMachine(t *testing.T) *Machine {
	t.Helper()
	s, err := source()
	if err != nil {
		t.Fatal(err)
	}
	return s.New(expr.New())
}

// TestF16: what is known of scalar.F16 is what its source computes, for all arguments.
func TestF16(t *testing.T) {
	m := newMachine(t)
	fn := m.source.program.ImportedPackage(module + "/internal/scalar").Func("F16")
	h := m.G.Sym(16, "h")
	got := m.body(fn, m.source.codeOf(fn), []Value{h}, nil).(*expr.Node)
	want := intrinsics[module+"/internal/scalar.F16"](m, []Value{h}).(*expr.Node)
	p, err := expr.Compile(1<<16, []*expr.Node{h}, nil, got, want)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Values(h) {
		p.Values(h)[i] = uint64(i)
	}
	p.Run()
	for i, x := range p.Values(got) {
		if x != p.Values(want)[i] {
			t.Fatalf("F16(%#x) = %#x, want %#x", i, x, p.Values(want)[i])
		}
	}
}

// TestNumbers executes functions on numbers, and compares the results with what the functions
// themselves say.
func TestNumbers(t *testing.T) {
	m := newMachine(t)
	exp2 := m.Table("fallback", "Elementwise").Field("Exp2").Value
	for _, x := range []float32{0, 1, -1, 0.5, -126, -127, 128, float32(math.Inf(-1))} {
		dst := NewSlice([]*expr.Node{m.G.Const(32, 0)})
		m.CallValue(exp2, dst, NewSlice([]*expr.Node{m.G.Float(x)}))
		want := float32(math.Exp2(float64(x)))
		if x < -126 {
			want = 0
		}
		if got := math.Float32frombits(uint32(dst.Nodes()[0].Val)); got != want && math.Abs(float64(got-want)) > 1e-7*float64(want) {
			t.Errorf("Exp2(%v) = %v, want %v", x, got, want)
		}
	}
}

// TestBranches: a branch on a symbol becomes a selection, also of what is written in it.
func TestBranches(t *testing.T) {
	m := newMachine(t)
	g := m.G
	s, top := g.Sym(32, "s"), g.Sym(32, "top")
	scores, max := NewSlice([]*expr.Node{s}), NewSlice([]*expr.Node{top})
	lo, hi := NewSlice([]*expr.Node{g.Sym(32, "lo")}), NewSlice([]*expr.Node{g.Sym(32, "hi")})
	m.CallValue(m.Table("fallback", "Lanes").Field("MaskSpan").Value, scores, g.Int(1), g.Int(5), g.Int(1), lo, hi, max)
	five := g.Const(32, 5)
	seen := g.And(g.Not(g.Lt(five, lo.Nodes()[0])), g.Lt(five, hi.Nodes()[0]))
	want := g.Select(seen, s, g.Float(float32(math.Inf(-1))))
	if got := scores.Nodes()[0]; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := max.Nodes()[0]; got != g.FMaxX86(want, top) {
		t.Errorf("%v is no maximum", got)
	}
}

// TestFaults: what the interpreter cannot do is an error, and so is a panic of the program.
func TestFaults(t *testing.T) {
	m := newMachine(t)
	g := m.G
	defer func() {
		if f, ok := recover().(Fault); !ok {
			t.Error("a slice that is too short goes unnoticed")
		} else {
			t.Log(f)
		}
	}()
	m.CallValue(m.Table("fallback", "Elementwise").Field("Exp2").Value, NewSlice([]*expr.Node{g.Sym(32, "x")}), Slice(nil))
}
