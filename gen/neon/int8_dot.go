package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
)

// sdot multiplies by SDOT: the four int8 of every lane, the weights, times the four int8 of one
// lane, a word of a row. So a load brings four words of a row, and none is broadcast.
//
// A tile of 8 rows and 2 vectors has 16 accumulators, 4 words of each row and 4 registers of
// weights. A vector of weights takes one operation for all rows, which makes its numbers signed or
// takes them out of the bytes. 4-bit numbers are loaded twice: words of the rows for both halves of
// the bytes would need 8 registers more.
//
// The vector units limit the speed. For a vector of lanes and a row, a block takes 8 SDOTs, 3
// operations to scale the sum, and 1 for the weights if there are 8 rows. gen/tools/mca.sh has no
// line for that, but its model llvm-mca predicts for a group of S8 or S4, in products per cycle,
//
//	rows   Neoverse N1   V1   V2
//	8               17   40   39
//	4               18   37   35
//	2               15   31   30
//	1               11   23   23
//	FMAs             8   16   16
//
// and for Q4_1 up to 13% less. Data is in L1 in that model.
type sdot struct{}

func (sdot) heights() []int { return []int{8, 4, 2, 1} }

// begin loads what the sums begin with.
func (sdot) begin(t *int8Gemmer) {
	for i, row := range t.acc {
		for _, v := range row {
			t.start(i, v)
		}
	}
}

// eight takes 4 words in an iteration.
func (d sdot) eight(t *int8Gemmer, name string) {
	d.begin(t)
	xs, from, count := t.Vecs(t.rows), t.q, t.t
	t.Op("MOVD", 2, count)
	t.Op("MOVD", t.xb, from)
	t.AlignLoop()
	t.Label(name)
	t.Op("MOVD", from, t.p)
	t.Op("ADD", emit.VecBytes, from, from)
	t.codes(xs)
	d.words(t, xs, true, func(w a64.Vec) { t.Op("VEOR", t.mask.B16(), w.B16(), w.B16()) })
	t.CountDown(count, 1, name)
}

// four takes the lower halves of the bytes of all words, then the upper ones.
func (d sdot) four(t *int8Gemmer, _ string) {
	d.begin(t)
	xs := t.Vecs(t.rows)
	t.Op("MOVD", t.xb, t.p)
	t.codes(xs)
	d.words(t, xs, true, func(w a64.Vec) { t.lower(w, w) })
	t.Op("SUB", t.word.Shl(2), t.numbers, t.numbers)
	t.Op("ADD", emit.VecBytes, t.xb, t.p)
	t.codes(xs)
	d.words(t, xs, false, func(w a64.Vec) { t.upper(w) })
}

// words emits the products of 4 words.
func (sdot) words(t *int8Gemmer, xs []a64.Vec, prefetch bool, prepare func(w a64.Vec)) {
	t.Scope(func() {
		ws := t.Vecs(4)
		for word := range 4 {
			ws := ws[word%2*2:][:int8Vectors]
			t.LoadVecs(t.numbers, ws)
			for _, w := range ws {
				prepare(w)
			}
			if prefetch {
				t.prefetch(t.numbers)
			}
			t.Op("ADD", t.word, t.numbers, t.numbers)
			for i, row := range t.acc {
				for v, acc := range row {
					t.SDOTLane(acc, ws[v], xs[i].S(word))
				}
			}
		}
	})
}

// groupedSDOT is sdot for grouped formats. The four bytes of a lane should belong to one group. So
// of two words the halves with the bytes of a group are put together, in the weights and once in
// the codes. The sums of both groups have accumulators of their own, and a tile of 4 rows has as
// many as sdot's.
type groupedSDOT struct {
	codes []a64.Vec // by rows: words p and p+1, and then p+4 and p+5, each of the first group and of the second
	from  a64.GP    // the codes of the first row on the stack
}

func (*groupedSDOT) heights() []int { return []int{4, 2, 1} }

func (*groupedSDOT) rowVectors() int { return 2 }

// arrange writes the codes for both iterations.
func (*groupedSDOT) arrange(t *int8Gemmer, xs []a64.Vec, p a64.GP) {
	first, second := t.Vec(), t.Vec()
	t.Op("VUZP1", xs[1].H8(), xs[0].H8(), first.H8())
	t.Op("VUZP2", xs[1].H8(), xs[0].H8(), second.H8())
	t.Op("VTRN1", second.S4(), first.S4(), xs[0].S4())
	t.Op("VTRN2", second.S4(), first.S4(), xs[1].S4())
	t.StoreVecs(xs, p)
}

// clear: the sums of a row are the first group's by vectors, then the second group's.
func (*groupedSDOT) clear(t *int8Gemmer, start func(row int) a64.Local) {
	t.acc = t.newAcc(2 * int8Vectors)
	t.Scope(func() {
		pair := t.Vec()
		for i, row := range t.acc {
			t.Op("FMOVQ", start(i), pair)
			for v, acc := range row {
				t.Op("VDUP", pair.S(v/int8Vectors), acc.S4())
			}
		}
	})
}

func (d *groupedSDOT) enter(t *int8Gemmer) {
	d.codes, d.from = t.Vecs(t.rows), t.q
	t.Op("MOVD", t.frame[0].Addr(), d.from)
}

func (d *groupedSDOT) load(t *int8Gemmer) {
	for i, x := range d.codes {
		t.LoadFrom(a64.At(d.from, i*(d.rowVectors()+rowPairs)*emit.VecBytes), x)
	}
	t.Op("ADD", emit.VecBytes, d.from, d.from)
}

func (d *groupedSDOT) multiply(t *int8Gemmer, a, b a64.Vec, v, half int) {
	t.Scope(func() {
		first := t.Vec()
		t.Op("VTRN1", b.H8(), a.H8(), first.H8())
		t.Op("VTRN2", b.H8(), a.H8(), b.H8())
		for group, w := range []a64.Vec{first, b} {
			for i, row := range t.acc {
				t.SDOTLane(row[group*int8Vectors+v], w, d.codes[i].S(2*half+group))
			}
		}
	})
}

func (*groupedSDOT) scale(t *int8Gemmer, s []a64.Vec) {
	t.Scope(func() {
		first, second := t.Vec(), t.Vec()
		for v := range int8Vectors {
			t.Op("VUZP1", s[2*v+1].S4(), s[2*v].S4(), first.S4())
			t.Op("VUZP2", s[2*v+1].S4(), s[2*v].S4(), second.S4())
			for _, row := range t.acc {
				t.MUL(row[v], row[v], first)
				t.MLA(row[v], row[int8Vectors+v], second)
			}
		}
	})
}

func (*groupedSDOT) groups(_ *int8Gemmer, row []a64.Vec, v int) (first, second a64.Vec) {
	return row[v], row[int8Vectors+v]
}
