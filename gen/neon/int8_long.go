package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
)

// longDot multiplies by SMULL and SMLAL: 8 bytes of a vector times 8 bytes of another, with 16
// bits. Words of a row are broadcast. The products of lanes 0 and 1 are added up in low, the
// products of lanes 2 and 3 in acc. At the end ADDP adds neighbours of both, which are of the same
// lane.
//
// 4-bit numbers: a product is at most 15·127, and the sum of 8 words 15240. Pairs of those fit in
// 16 bits, too. Pairs of sums of values, which have 5 bits, need 32.
//
// 8-bit numbers: a product is at most 128·127, so the sum of two words fits in 16 bits, but not the
// sum of three. SADALP adds pairs of it to sums of 32 bits.
//
// The CPUs that this is for execute one such instruction per cycle, which limits the speed.
// llvm-mca predicts for Cortex-A57 and A72, in products per cycle, 5 for 2 rows of S8 and 6 of S4,
// 4 and 4.6 for 1 row. FMAs are 4 per cycle there, and that without making weights.
type longDot struct{}

func (longDot) heights() []int { return []int{2, 1} }

// begin returns pointers to the codes of the rows, and low. It clears low and acc.
func (longDot) begin(t *int8Gemmer) (rows []a64.GP, low [][]a64.Vec) {
	for i, acc := range t.acc {
		rows, low = append(rows, t.GP()), append(low, t.Vecs(int8Vectors))
		if i == 0 {
			t.Op("MOVD", t.xb, rows[0])
		} else {
			t.Op("ADD", t.ldx, rows[i-1], rows[i])
		}
		for v := range acc {
			t.Zero(low[i][v])
			t.Zero(acc[v])
		}
	}
	return rows, low
}

// eight takes two words in an iteration.
func (d longDot) eight(t *int8Gemmer, name string) {
	rows, low := d.begin(t)
	next := t.p
	t.Op("ADD", t.word, t.numbers, next)
	t.Op("MOVD", 4, t.t)
	t.AlignLoop()
	loop.Times(t.neon, t.t, name, func() {
		t.Scope(func() {
			x0, x1, w0, w1 := t.Vecs(t.rows), t.Vecs(t.rows), t.Vecs(int8Vectors), t.Vecs(int8Vectors)
			p, upper := t.Vec(), t.Vec()
			for i, row := range rows {
				t.Op("VLD1R.P", a64.At(row, 4), []a64.Arr{x0[i].S4()})
				t.Op("VLD1R.P", a64.At(row, 4), []a64.Arr{x1[i].S4()})
			}
			t.LoadVecs(t.numbers, w0)
			t.LoadVecs(next, w1)
			for v := range w0 {
				t.Op("VEOR", t.mask.B16(), w0[v].B16(), w0[v].B16())
				t.Op("VEOR", t.mask.B16(), w1[v].B16(), w1[v].B16())
				for i := range rows {
					t.SMULL(p, w0[v], x0[i])
					t.SMULL2(upper, w0[v], x0[i])
					t.SMLAL(p, w1[v], x1[i])
					t.SMLAL2(upper, w1[v], x1[i])
					t.SADALP(low[i][v], p)
					t.SADALP(t.acc[i][v], upper)
				}
			}
			t.prefetch(t.numbers)
			t.prefetch(next)
			t.Op("ADD", t.word.Shl(1), t.numbers, t.numbers)
			t.Op("ADD", t.word.Shl(1), next, next)
		})
	})
	start := t.Vec()
	for i, row := range t.acc {
		t.start(i, start)
		for v, acc := range row {
			t.Op("VADDP", acc.S4(), low[i][v].S4(), acc.S4())
			t.Op("VADD", start.S4(), acc.S4(), acc.S4())
		}
	}
}

// four takes a word in an iteration: the lower halves of its bytes and the upper ones, which are
// the numbers of the word four after it.
func (d longDot) four(t *int8Gemmer, name string) {
	rows, low := d.begin(t)
	if t.values {
		t.Jump("CBNZ", name+"wide", t.minima)
		defer d.wide(t, rows, low, name)
	}
	t.Op("MOVD", 4, t.t)
	t.AlignLoop()
	loop.Times(t.neon, t.t, name, func() {
		t.Scope(func() {
			x0, x1, w0, w1 := t.Vecs(t.rows), t.Vecs(t.rows), t.Vec(), t.Vecs(int8Vectors)
			for i, row := range rows {
				t.Op("VLD1R.P", a64.At(row, 4), []a64.Arr{x0[i].S4()})
				t.Op("ADD", emit.VecBytes-4, row, t.p)
				t.Op("VLD1R", a64.At(t.p, 0), []a64.Arr{x1[i].S4()})
			}
			t.LoadVecs(t.numbers, w1)
			for v, w1 := range w1 {
				t.lower(w1, w0)
				t.upper(w1)
				for i := range rows {
					t.SMLAL(low[i][v], w0, x0[i])
					t.SMLAL2(t.acc[i][v], w0, x0[i])
					t.SMLAL(low[i][v], w1, x1[i])
					t.SMLAL2(t.acc[i][v], w1, x1[i])
				}
			}
			t.prefetch(t.numbers)
			t.Op("ADD", t.word, t.numbers, t.numbers)
		})
	})
	for i, row := range t.acc {
		for v, acc := range row {
			if t.values {
				t.addPairs(low[i][v], acc)
				continue
			}
			t.Op("VADDP", acc.H8(), low[i][v].H8(), low[i][v].H8())
			t.start(i, acc)
			t.SADALP(acc, low[i][v])
		}
	}
}

// wide is four for values of 8 bits, of which the sum of two products fits in 16 bits.
func (d longDot) wide(t *int8Gemmer, rows []a64.GP, low [][]a64.Vec, name string) {
	t.Jump("B", name+"done")
	t.Label(name + "wide")
	t.Op("MOVD", 4, t.t)
	t.AlignLoop()
	loop.Times(t.neon, t.t, name+"wideword", func() {
		t.Scope(func() {
			x0, x1, w0, w1 := t.Vecs(t.rows), t.Vecs(t.rows), t.Vec(), t.Vecs(int8Vectors)
			p, upper := t.Vec(), t.Vec()
			for i, row := range rows {
				t.Op("VLD1R.P", a64.At(row, 4), []a64.Arr{x0[i].S4()})
				t.Op("ADD", emit.VecBytes-4, row, t.p)
				t.Op("VLD1R", a64.At(t.p, 0), []a64.Arr{x1[i].S4()})
			}
			t.LoadVecs(t.numbers, w1)
			for v, w1 := range w1 {
				t.lower(w1, w0)
				t.upper(w1)
				for i := range rows {
					t.SMULL(p, w0, x0[i])
					t.SMULL2(upper, w0, x0[i])
					t.SMLAL(p, w1, x1[i])
					t.SMLAL2(upper, w1, x1[i])
					t.SADALP(low[i][v], p)
					t.SADALP(t.acc[i][v], upper)
				}
			}
			t.prefetch(t.numbers)
			t.Op("ADD", t.word, t.numbers, t.numbers)
		})
	})
	for i, row := range t.acc {
		for v, acc := range row {
			t.Op("VADDP", acc.S4(), low[i][v].S4(), acc.S4())
			t.Op("VADD", t.constant.S4(), acc.S4(), acc.S4())
		}
	}
	t.Label(name + "done")
}

// addPairs adds pairs of 16 bits of low and of acc, which become the sums.
func (t *int8Gemmer) addPairs(low, acc a64.Vec) {
	x, y := t.Vec(), t.Vec()
	for _, sum := range [][2]a64.Vec{{x, low}, {y, acc}} {
		t.Zero(sum[0])
		t.SADALP(sum[0], sum[1])
	}
	t.Op("VADDP", y.S4(), x.S4(), acc.S4())
	t.Op("VADD", t.constant.S4(), acc.S4(), acc.S4())
	t.Free(x, y)
}

// groupedLong is longDot for grouped formats. A product is at most 63·127, and the sum of the 4
// words of an iteration 32004, which fits in 16 bits; with 8 bits the sum of 2 words does. SADALP
// adds pairs, of which each is of one group, to the sums of earlier iterations. So a vector has the
// sums of both groups of two lanes.
type groupedLong struct {
	eight bool        // bits
	rows  []a64.GP    // pointers to the codes
	xs    [][]a64.Vec // by rows: words p, p+1, p+4 and p+5 of the codes
	sums  [][]a64.Vec // by rows: of 16 bits, of lanes 0 and 1 of a vector, and of lanes 2 and 3
}

func (*groupedLong) heights() []int { return []int{2, 1} }

func (*groupedLong) rowVectors() int { return 0 }

func (*groupedLong) arrange(*int8Gemmer, []a64.Vec, a64.GP) {}

// clear: a row has the lower lanes of a vector, and the upper ones, vector by vector.
func (*groupedLong) clear(t *int8Gemmer, start func(row int) a64.Local) {
	t.acc = t.newAcc(2 * int8Vectors)
	for i, row := range t.acc {
		t.Op("FMOVQ", start(i), row[0])
		for _, acc := range row[1:] {
			t.Op("VMOV", row[0].B16(), acc.B16())
		}
	}
}

func (d *groupedLong) enter(t *int8Gemmer) {
	d.rows, d.xs, d.sums = nil, t.newAcc(4), t.newAcc(2)
	for i := range t.rows {
		d.rows = append(d.rows, t.GP())
		if i == 0 {
			t.Op("MOVD", t.xb, d.rows[0])
		} else {
			t.Op("ADD", t.ldx, d.rows[i-1], d.rows[i])
		}
	}
}

func (d *groupedLong) load(t *int8Gemmer) {
	word := func(p a64.GP, x a64.Vec) { t.Op("VLD1R.P", a64.At(p, 4), []a64.Arr{x.S4()}) }
	for i, row := range d.rows {
		t.Op("ADD", emit.VecBytes, row, t.q)
		word(row, d.xs[i][0])
		word(row, d.xs[i][1])
		word(t.q, d.xs[i][2])
		word(t.q, d.xs[i][3])
	}
}

func (d *groupedLong) multiply(t *int8Gemmer, a, b a64.Vec, v, half int) {
	for i, sums := range d.sums {
		x := d.xs[i][2*half:]
		if half == 0 || d.eight {
			t.SMULL(sums[0], a, x[0])
			t.SMULL2(sums[1], a, x[0])
		} else {
			t.SMLAL(sums[0], a, x[0])
			t.SMLAL2(sums[1], a, x[0])
		}
		t.SMLAL(sums[0], b, x[1])
		t.SMLAL2(sums[1], b, x[1])
		if half == 1 || d.eight {
			t.SADALP(t.acc[i][2*v], sums[0])
			t.SADALP(t.acc[i][2*v+1], sums[1])
		}
	}
}

func (*groupedLong) scale(t *int8Gemmer, s []a64.Vec) {
	for _, row := range t.acc {
		for v := range int8Vectors {
			t.MUL(row[2*v], row[2*v], s[2*v])
			t.MUL(row[2*v+1], row[2*v+1], s[2*v+1])
			t.Op("VADDP", row[2*v+1].S4(), row[2*v].S4(), row[v].S4())
		}
	}
}

func (*groupedLong) groups(t *int8Gemmer, row []a64.Vec, v int) (first, second a64.Vec) {
	first, second = row[2*v], row[2*v+1]
	t.Scope(func() {
		x := t.Vec()
		t.Op("VUZP1", second.S4(), first.S4(), x.S4())
		t.Op("VUZP2", second.S4(), first.S4(), second.S4())
		t.Op("VMOV", x.B16(), first.B16())
	})
	return first, second
}
