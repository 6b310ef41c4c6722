package lane

import (
	"fmt"
	"slices"
	"testing"
)

// A witness is a machine of which every register holds the value that was put there last. It finds
// operands that have been overwritten, and registers that are free but used.
type witness struct {
	t       *testing.T
	size    int
	inPlace []int
	free    []int
	holds   map[int]string
}

func (w *witness) Traits() Traits                   { return Traits{} }
func (w *witness) Size() int                        { return w.size }
func (w *witness) Widths() []int                    { return []int{4, 2, 1} }
func (w *witness) Reorders() bool                   { return true }
func (w *witness) Worth(*Value, int) int            { return 1 }
func (w *witness) Scratch(*Value) int               { return 0 }
func (w *witness) Home(v *Value) (n int, must bool) { return 1, v.Op != Const }

func (w *witness) InPlace(n *Value) (list []int) {
	for _, i := range w.inPlace {
		if i < len(n.Args) {
			list = append(list, i)
		}
	}
	return list
}

func (w *witness) Alloc() int {
	if len(w.free) == 0 {
		w.t.Fatal("no register is free")
	}
	r := w.free[0]
	w.free = w.free[1:]
	return r
}

func (w *witness) Free(r int) {
	if slices.Contains(w.free, r) {
		w.t.Fatalf("register %d is freed twice", r)
	}
	w.free = append([]int{r}, w.free...)
	delete(w.holds, r)
}

func (w *witness) Emit(f *Frame[int], n *Value, dst, vector int) {
	for i, a := range n.Args {
		r, ok := f.Reg(a, vector)
		if want := name(a, vector); ok && !a.Shared() && w.holds[r] != want {
			w.t.Errorf("%s: operand %d of operation %d is in register %d, which holds %q, want %q", f.Name, i, n.Op, r, w.holds[r], want)
		}
	}
	switch {
	case n.Op == Set:
		r, _ := f.Reg(n.Args[0], vector)
		w.holds[r] = name(n.Args[0], vector)
	case n.into != nil:
		w.holds[dst] = name(n.into, vector)
	case !n.IsStep():
		w.holds[dst] = name(n, vector)
	}
}

// name names what a register holds. A result that becomes a variable is that variable.
func name(v *Value, vector int) string {
	if v.into != nil {
		v = v.into
	}
	if v.Shared() {
		vector = 0
	}
	return fmt.Sprintf("%p of vector %d", v, vector)
}

// TestInline emits functions in line: they find their vectors in the registers that they are given,
// leave the results in others, or in these, and take no more.
func TestInline(t *testing.T) {
	for _, of := range []Function{(*Builder).Tanh, (*Builder).Weight, (*Builder).Finite} {
		for _, inPlace := range [][]int{nil, {2}, {3, 2, 1, 0}} {
			w := &witness{t: t, size: 32, inPlace: inPlace, holds: map[int]string{}}
			p := Inline(of, 2, w.Traits())
			plan, err := NewPlan(p, w)
			if err != nil {
				t.Fatal(err)
			}
			f := NewFrame[int](p, w)
			for i, v := range plan.Stay {
				f.Home[v] = i
			}
			for r := len(plan.Stay); r < w.size; r++ {
				w.free = append(w.free, r)
			}
			for range 2 {
				all, given := len(w.free), []int{w.Alloc(), w.Alloc()}
				for vector, r := range given {
					w.holds[r] = name(p.before[0], vector)
				}
				for vector, r := range f.Of(given...) {
					if got, want := w.holds[r], name(p.Result, vector); got != want {
						t.Errorf("result %d is %q, want %q", vector, got, want)
					}
					w.Free(r)
				}
				if len(w.free) != all {
					t.Errorf("%d registers are not freed", all-len(w.free))
				}
			}
		}
	}
}

// TestRegisters plans and emits every kernel for machines of several sizes and rules: each operand
// is where it was put, and after the program all registers are free.
func TestRegisters(t *testing.T) {
	for _, k := range Kernels {
		for _, size := range []int{15, 16, 32} {
			for _, inPlace := range [][]int{nil, {2}, {0, 1}, {3, 2, 1, 0}} {
				w := &witness{t: t, size: size, inPlace: inPlace, holds: map[int]string{}}
				p := Build(k, w.Traits())
				plan, err := NewPlan(p, w)
				if err != nil {
					continue // too few registers for a machine without memory operands
				}
				for r := len(plan.Stay); r < size; r++ {
					w.free = append(w.free, r)
				}
				all, f := len(w.free), NewFrame[int](p, w)
				for i, v := range plan.Stay {
					f.Home[v] = i
				}
				for _, width := range plan.Widths {
					for part := range p.parts() {
						if part == After && p.Phases && width.Vectors == 1 {
							f.Again(After)
						}
						f.Run(part, width)
						if part == Before && p.Phases && width.Vectors == 1 {
							f.Again(Before)
						}
						if part == Row && p.Count != "" {
							f.Run(part, width) // another row finds the same registers
						}
					}
					if len(w.free) != all {
						t.Errorf("%s, %d registers, %v: %d are not freed", k.Name, size, width, all-len(w.free))
					}
				}
			}
		}
	}
}
