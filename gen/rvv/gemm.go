package rvv

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/gen/abi0"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// A product is for a query tile of a number of lanes, which a CPU holds in a group of 1, 2 or 4
// registers, or in part of one. Gemm finds the size out, and there is a function for each: the
// register tile, whose rows are accumulators of one group each. All take a number of A from a
// floating-point register:
//
//	for each step x:  b = B[x];  for each row i:  f = a[i·rs+x·cs];  acc[i] = fma(f, b, acc[i])
//
// Vector registers: the group at V0 for masks, one or two for B, and one for each row. General
// registers: the strides and counts that the loops need, and up to 10 pointers to rows of A.

// widths are the lanes of query tiles. A tile of MaxLanes takes 4 registers of 512 bits, a tile of
// 4 lanes a register of 128.
var widths = []int{leastLanes, 8, 16, 32, 64}

const leastLanes = 4 // that a register has

// A shape is a register tile: the size of a group, and the heights that rows are divided into, the
// highest as often as it fits. That one takes two steps at a time. 16 registers of accumulators are
// enough for two units of latency 8. With rows of single registers the loads of numbers take longer
// than the FMAs: llvm-mca predicts 71 and 83% of the P670's rate for 10 rows, by rows and by
// columns of A, and 63 and 71% of the X60's; 60 and 22% for 16 rows one step at a time.
type shape struct {
	size    int
	heights []int
	evenOdd bool // a product in bfloat16, whose rows have two accumulators
}

var (
	shapes        = []shape{{1, []int{10, 4, 2, 1}, false}, {2, []int{8, 4, 2, 1}, false}, {4, []int{6, 4, 2, 1}, false}}
	evenOddShapes = []shape{{1, []int{8, 4, 2, 1}, true}, {2, []int{6, 4, 2, 1}, true}, {4, []int{3, 2, 1}, true}}
)

func (s shape) name() string {
	if s.evenOdd {
		return fmt.Sprintf("evenOdd%d%s", s.size, isa)
	}
	return fmt.Sprintf("product%d%s", s.size, isa)
}

// The modes of a product.
const (
	store = iota
	storeMax
	storeMerge
	storePanel // Store for the lanes of a packed panel of weights, panelPart of them after the others
)

// panelPart is the part of a packed panel that a product of weights takes at a time, with all rows
// of A. It is a whole group for registers of up to 512 bits.
const panelPart = 16

// Gemm emits the product for tiles of a number of lanes: it jumps to the register tile that the CPU
// needs for them. Arguments that the tile does not need otherwise say what it is to do.
func (g *gen) Gemm(lanes int, e spec.Epilogue) {
	f := spec.Gemm(lanes, lanes, e)
	f.Name = [...]string{"Gemm", "GemmMax", "GemmMerge"}[e] + fmt.Sprint(lanes)
	g.kernel(f)
	mode, avl, of, x := g.GP(), g.GP(), g.GP(), g.GP()
	g.Op("MOV", int(e), mode)
	g.Op("MOV", mode, g.Len("c").Local())
	switch e {
	case spec.StoreMax:
		g.Op("MOV", g.Base("max"), x)
		g.Op("MOV", x, g.Cap("c").Local())
	case spec.StoreMerge:
		g.Op("MOV", g.Base("alpha"), x)
		g.Op("MOV", x, g.Cap("c").Local())
		g.Op("MOV", g.Base("beta"), x)
		g.Op("MOV", x, g.Len("b").Local())
	}
	g.toProduct(shapes, lanes, avl, of)
}

// EvenOdd emits the product in bfloat16 for tiles of a number of lanes.
func (g *gen) EvenOdd(lanes int) {
	f := spec.GemmEvenOdd(lanes, lanes)
	g.kernel(f)
	g.toProduct(evenOddShapes, lanes, g.GP(), g.GP())
}

// WeightGemm emits the product with a packed panel of weights of float32: it is Gemm for the parts
// of the panel.
func (g *gen) WeightGemm() {
	g.kernel(spec.WeightGemm(spec.Float32))
	x, avl, of := g.GP(), g.GP(), g.GP()
	g.Op("MOV", storePanel, x)
	g.Op("MOV", x, g.Len("c").Local())
	g.Op("MOVBU", g.Param("load"), x)
	g.Op("MOV", x, g.Cap("c").Local())
	g.Op("MOV", spec.PanelLanes/panelPart, x)
	g.Op("MOV", x, g.Len("b").Local())
	g.toProduct(shapes, panelPart, avl, of)
}

// toProduct emits the jump to the register tile for a number of lanes: to the smallest that holds
// them. All registers have 128 bits at least.
func (g *gen) toProduct(shapes []shape, lanes int, avl, of riscv.GP) {
	g.Op("MOV", lanes, avl)
	g.Op("MOV", avl, g.Len("a").Local())
	last := 0
	for last < len(shapes)-1 && lanes > leastLanes*shapes[last].size {
		last++
	}
	for _, s := range shapes[:last] {
		g.SetLanes(avl, s.size, of)
		g.Jump("BEQ", fmt.Sprintf("fits%d", s.size), of, avl)
	}
	g.TailJump(shapes[last].name())
	for _, s := range shapes[:last] {
		g.Label(fmt.Sprintf("fits%d", s.size))
		g.TailJump(s.name())
	}
}

// A tile is a register tile while it is emitted. Arguments that the loops over the steps do not
// need stay in memory, or go there, so that these have registers for the rows.
type tile struct {
	*gen
	shape
	c, a, rs, cs, b, ldb, m              riscv.GP // the arguments, strides in bytes
	p, column, row, steps, left, adds, x riscv.GP
	height                               riscv.GP // rows of the tile
	fs                                   []riscv.FP
	acc, odds                            []riscv.Vec
	v                                    riscv.Vec
}

// The places of what a product has in memory: max is alpha, or load of a panel; beta is the number
// of a panel's parts.
func (t *tile) mode() abi0.Param { return t.Len("c").Local() }
func (t *tile) max() abi0.Param  { return t.Cap("c").Local() }
func (t *tile) beta() abi0.Param { return t.Len("b").Local() }
func (t *tile) seg() abi0.Param  { return t.Cap("a").Local() }
func (t *tile) load() abi0.Param { return t.Cap("b").Local() }

// is emits a jump if the mode is the given one. It takes x and p.
func (t *tile) is(mode int, label string) {
	t.Op("MOV", t.mode(), t.p)
	t.Op("MOV", mode, t.x)
	t.Jump("BEQ", label, t.p, t.x)
}

// product emits the function for a size of groups. It has the signature of Gemm; seg and load lie
// where GemmMax has them, and neither GemmMerge nor WeightGemm.
func (g *gen) product(s shape) {
	f, what := spec.Gemm(s.size, s.size, spec.Store), "Gemm, GemmMax, GemmMerge or WeightGemm"
	if s.evenOdd {
		f, what = spec.GemmEvenOdd(s.size, s.size), "GemmEvenOdd"
	}
	name := s.name()
	g.Func = g.file.Func(name, g.contracts.Signature(&f), fmt.Sprintf("%s is %s for tiles in groups of %d registers, which jump to it.", name, what, s.size))
	t := &tile{gen: g, shape: s}
	t.arguments()
	t.fs = g.fps(8)
	t.v = g.Vec(s.size)
	t.acc = g.Vecs(s.heights[0], s.size)
	if s.evenOdd {
		t.odds = g.Vecs(s.heights[0], s.size)
	}
	g.Label("rows")
	for _, h := range s.heights {
		t.Op("MOV", h, t.height)
		t.Jump("BGE", "tile", t.m, t.height)
	}
	t.nextPart()
	t.segments()
	for _, h := range s.heights {
		t.chains(h)
	}
	t.sums()
}

// nextPart goes on to the next part of a panel, if there is one, else it returns.
func (t *tile) nextPart() {
	if t.evenOdd {
		t.Ret()
		return
	}
	t.is(storePanel, "part")
	t.Ret()
	t.Label("part")
	t.Op("MOV", t.beta(), t.x)
	t.Op("ADD", -1, t.x, t.x)
	t.Jump("BEQZ", "done", t.x)
	t.Op("MOV", t.x, t.beta())
	forward := func(name string, r riscv.GP) {
		t.Op("MOV", t.Base(name), r)
		t.Op("ADD", 4*panelPart, r, r)
		t.Op("MOV", r, t.Base(name).Local())
	}
	forward("c", t.c)
	forward("b", t.b)
	t.Op("MOV", t.Base("a"), t.a)
	t.Op("MOV", t.Param("m"), t.m)
	t.Jump("JMP", "rows")
	t.Label("done")
	t.Ret()
}

// arguments loads the arguments and sets the vector type.
func (t *tile) arguments() {
	t.c, t.a, t.b = t.Load(t.Base("c")), t.Load(t.Base("a")), t.Load(t.Base("b"))
	t.rs, t.cs, t.ldb, t.m = t.stride("rs"), t.stride("cs"), t.stride("ldb"), t.Load(t.Param("m"))
	t.p, t.column, t.row, t.steps, t.height = t.GP(), t.GP(), t.GP(), t.GP(), t.GP()
	t.left, t.adds, t.x = t.GP(), t.GP(), t.GP()
	seg, load := t.steps, t.left
	t.Op("MOV", t.Len("a"), t.x)
	t.SetLanes(t.x, t.size, t.x)
	if t.evenOdd {
		t.Op("MOV", spec.BF16Segment, seg)
		t.Op("MOVBU", t.Param("load"), load)
		t.Op("MOV", seg, t.seg())
		t.Op("MOV", load, t.load())
		return
	}
	t.Op("MOV", riscv.Zero, load)
	t.Op("MOV", math.MaxInt64, seg) // GemmMerge has one segment
	t.is(storeMerge, "arguments")
	t.is(storePanel, "panel")
	t.Op("MOV", t.Param("seg"), seg)
	t.Jump("BNEZ", "arguments", t.p)
	t.Op("MOVBU", t.Param("load"), load)
	t.Jump("JMP", "arguments")
	t.Label("panel")
	t.Op("MOV", spec.InputSegment, seg)
	t.Op("MOV", t.max(), load)
	t.Label("arguments")
	t.Op("MOV", seg, t.seg())
	t.Op("MOV", load, t.load())
}

// segments emits what comes before the chains of a segment.
func (t *tile) segments() {
	t.Label("tile")
	t.Op("MOV", t.a, t.column)
	t.Op("MOV", t.b, t.row)
	t.Op("MOV", t.Param("k"), t.left)
	t.Op("MOV", t.load(), t.adds)
	t.Label("segment")
	t.Op("MOV", t.seg(), t.steps)
	t.Jump("BGE", "long", t.left, t.steps)
	t.Op("MOV", t.left, t.steps)
	t.Label("long")
	t.Op("SUB", t.steps, t.left, t.left)
	t.enter("chains")
}

// chains emits the chains of a tile of a number of rows. It has the last accumulators.
func (t *tile) chains(rows int) {
	t.Commentf("%d rows.", rows)
	name := t.entry("chains", rows)
	if rows < len(t.acc) {
		t.Label(name)
	}
	acc := t.acc[len(t.acc)-rows:]
	for _, v := range acc {
		t.Op("VMVVI", 0, v)
	}
	if t.evenOdd {
		t.evenOddSteps(name, acc, t.odds[len(t.acc)-rows:])
		return
	}
	if rows == len(t.acc) {
		t.pairs()
	}
	t.Jump("BEQZ", "sums", t.steps)
	t.Label(name + "step")
	t.step(acc)
	t.Jump("BNEZ", name+"step", t.steps)
	t.Jump("JMP", "sums")
}

// evenOddSteps emits the steps of two chains, and adds both.
func (t *tile) evenOddSteps(name string, acc, odds []riscv.Vec) {
	for _, v := range odds {
		t.Op("VMVVI", 0, v)
	}
	t.Jump("BEQZ", name+"both", t.steps)
	t.Label(name + "step")
	t.step(acc)
	t.Jump("BEQZ", name+"both", t.steps)
	t.step(odds)
	t.Jump("BNEZ", name+"step", t.steps)
	t.Label(name + "both")
	for i, v := range acc {
		t.Op("VFADDVV", odds[i], v, v)
	}
	t.Jump("JMP", "sums")
}

// pairs emits the loops over two steps at a time for the highest tile, of which A takes one if the
// numbers of its rows or its columns are neighbours. Then they are at constant distances of few
// pointers. On CPUs that execute in order, a step takes as long as the FMAs and whatever is not
// between them.
func (t *tile) pairs() {
	t.Op("ADD", -2, t.steps, t.steps)
	t.Jump("BLT", "pairsEnd", t.steps, riscv.Zero)
	t.Op("MOV", 4, t.x)
	t.Jump("BEQ", "rowPairs", t.cs, t.x)
	t.Jump("BNE", "pairsEnd", t.rs, t.x)
	t.Commentf("Two steps, with neighbours in a column of A.")
	t.pair("column", 2, t.cs, func(step, row int) (int, int) { return step, row })
	t.Jump("JMP", "pairsEnd")
	t.Commentf("Two steps, with neighbours in a row of A.")
	t.Label("rowPairs")
	t.pair("row", len(t.acc), t.rs, func(step, row int) (int, int) { return row, step })
	t.Label("pairsEnd")
	t.Op("ADD", 2, t.steps, t.steps)
}

// pair emits such a loop. A's pointers are n, at a distance; place says which one a number of A is
// at, and how many places behind it. Numbers are loaded some FMAs ahead.
func (t *tile) pair(name string, n int, distance riscv.GP, place func(step, row int) (pointer, behind int)) {
	t.Scope(func() {
		spare := []riscv.GP{t.x, t.p}
		next := func() riscv.GP {
			if len(spare) > 0 {
				r := spare[0]
				spare = spare[1:]
				return r
			}
			return t.GP()
		}
		pointers, rows := []riscv.GP{t.column}, []riscv.GP{t.row, next()}
		for len(pointers) < n {
			r := next()
			t.Op("ADD", distance, pointers[len(pointers)-1], r)
			pointers = append(pointers, r)
		}
		vs := []riscv.Vec{t.v, {}}
		if t.size < 4 {
			vs[1] = t.Vec(t.size)
		} else {
			vs[1] = t.AtV0(t.size) // of the masks, which are not needed here
		}
		t.Op("ADD", t.ldb, rows[0], rows[1])
		var two any = 8 // bytes of two steps in A
		if distance == t.cs {
			r := next()
			t.Op("ADD", t.cs, t.cs, r)
			two = r
		}
		twoRows := next()
		t.Op("ADD", t.ldb, t.ldb, twoRows)
		t.Label(name + "Pair")
		load := func(i int) {
			if i >= 2*len(t.acc) {
				return
			}
			step, row := i/len(t.acc), i%len(t.acc)
			if row == 0 {
				t.Op("VLE32V", riscv.At(rows[step], 0), vs[step])
			}
			p, behind := place(step, row)
			t.Op("MOVF", riscv.At(pointers[p], 4*behind), t.fs[i%len(t.fs)])
		}
		ahead := len(t.fs) - 1
		for i := range ahead {
			load(i)
		}
		for i := range 2 * len(t.acc) {
			load(i + ahead)
			t.Op("VFMACCVF", vs[i/len(t.acc)], t.fs[i%len(t.fs)], t.acc[i%len(t.acc)])
		}
		for _, p := range pointers {
			t.Op("ADD", two, p, p)
		}
		for _, r := range rows {
			t.add(twoRows, r)
		}
		t.Op("ADD", -2, t.steps, t.steps)
		t.Jump("BGE", name+"Pair", t.steps, riscv.Zero)
	})
}

// sums emits what happens to the accumulators.
func (t *tile) sums() {
	t.Label("sums")
	ldc := t.stride("ldc")
	var max riscv.GP
	if !t.evenOdd {
		max = t.Load(t.max())
		t.is(storeMerge, "merge")
	}
	t.Jump("BEQZ", "first", t.adds)
	t.eachRow("add", ldc, func(v riscv.Vec) {
		t.Op("VLE32V", riscv.At(t.p, 0), t.v)
		t.Op("VFADDVV", v, t.v, v)
	})
	t.Label("first")
	if !t.evenOdd {
		t.Jump("BNEZ", "more", t.left)
		t.is(storeMax, "max")
		t.Label("more")
	}
	t.eachRow("store", ldc, t.store)
	t.Op("MOV", 1, t.adds)
	t.Jump("BNEZ", "segment", t.left)

	t.Commentf("The rows after the tile.")
	if !t.evenOdd {
		t.Label("next")
	}
	t.Op("SUB", t.height, t.m, t.m)
	t.forward(t.height, ldc, t.c, t.x)
	t.forward(t.height, t.rs, t.a, t.x)
	t.Jump("JMP", "rows")
	if t.evenOdd {
		return
	}

	t.Commentf("Store; max = C > max ? C : max.")
	t.Label("max")
	t.Op("VLE32V", riscv.At(max, 0), t.v)
	t.eachRow("raise", ldc, func(v riscv.Vec) {
		t.store(v)
		t.raise(t.v, v)
	})
	t.Op("VSE32V", t.v, riscv.At(max, 0))
	t.Jump("JMP", "next")

	t.Commentf("C = fma(sum, beta, C·alpha)")
	t.Label("merge")
	alpha, beta := max, t.Load(t.beta())
	t.eachRow("merges", ldc, func(v riscv.Vec) { t.merge(v, alpha, beta) })
	t.Jump("JMP", "next")
}

// entry is the label at which code for all rows begins for a tile of fewer.
func (t *tile) entry(name string, rows int) string { return fmt.Sprintf("%s%d", name, rows) }

// enter emits the jumps to such labels. The code of the highest tile comes next.
func (t *tile) enter(name string) {
	for _, h := range t.heights[1:] {
		t.Op("MOV", h, t.x)
		t.Jump("BEQ", t.entry(name, h), t.height, t.x)
	}
}

// step emits one step of all chains. The numbers of A are loaded some rows ahead of their FMAs.
func (t *tile) step(acc []riscv.Vec) {
	t.Op("VLE32V", riscv.At(t.row, 0), t.v)
	t.add(t.ldb, t.row)
	t.Op("MOV", t.column, t.p)
	const ahead = 3
	load := func(i int) {
		if i < len(acc) {
			t.Op("MOVF", riscv.At(t.p, 0), t.fs[i%(ahead+1)])
			if i+1 < len(acc) {
				t.add(t.rs, t.p)
			}
		}
	}
	for i := range ahead {
		load(i)
	}
	for i, v := range acc {
		load(i + ahead)
		t.Op("VFMACCVF", t.v, t.fs[i%(ahead+1)], v)
	}
	t.add(t.cs, t.column)
	t.Op("ADD", -1, t.steps, t.steps)
}

// eachRow emits f for each accumulator, with p at its row of C. A lower tile begins at a later one.
func (t *tile) eachRow(name string, ldc riscv.GP, f func(riscv.Vec)) {
	t.Op("MOV", t.c, t.p)
	t.enter(name)
	for i, v := range t.acc {
		if rows := len(t.acc) - i; i > 0 && slices.Contains(t.heights, rows) {
			t.Label(t.entry(name, rows))
		}
		f(v)
		if i+1 < len(t.acc) {
			t.add(ldc, t.p)
		}
	}
}

func (t *tile) store(v riscv.Vec) { t.Op("VSE32V", v, riscv.At(t.p, 0)) }

// merge merges an accumulator into C. No group is left for alpha and beta of all rows, so each row
// loads them into the group of the masks, which are not needed here.
func (t *tile) merge(v riscv.Vec, alpha, beta riscv.GP) {
	t.Op("VLE32V", riscv.At(t.p, 0), t.v)
	t.Scope(func() {
		w := t.AtV0(t.size)
		t.Op("VLE32V", riscv.At(alpha, 0), w)
		t.Op("VFMULVV", w, t.v, t.v)
		t.Op("VLE32V", riscv.At(beta, 0), w)
		t.Op("VFMADDVV", t.v, w, v)
	})
	t.store(v)
}

// forward adds n strides to a pointer.
func (g *gen) forward(n, stride, p, scratch riscv.GP) {
	g.Op("MUL", n, stride, scratch)
	g.add(scratch, p)
}
