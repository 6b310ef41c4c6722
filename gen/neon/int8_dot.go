package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
)

// sdot multiplies by SDOT: the four int8 of every lane, the weights, times those of one lane, a word of
// a row. So a load brings four words of a row, and none is broadcast.
//
// A tile of 8 rows and 2 vectors has 16 accumulators, 4 words of each row and 4 registers of weights.
// A vector of weights takes one operation for all rows, which makes its numbers signed or takes them out of the
// bytes. 4-bit numbers are loaded twice: words of the rows for both halves of the bytes would need 8 registers more.
//
// The vector units limit the speed. For a vector of lanes and a row, a block takes 8 SDOTs, 3 operations
// to scale the sum, and 1 for the weights if there are 8 rows. tools/mca.sh has no line for that, but its model
// llvm-mca predicts for a group of Q8_0 or Q4_0, in products per cycle,
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
	d.words(t, xs, true, func(w a64.Vec) { t.Op("VAND", t.mask.B16(), w.B16(), w.B16()) })
	t.Op("SUB", t.word.Shl(2), t.numbers, t.numbers)
	t.Op("ADD", emit.VecBytes, t.xb, t.p)
	t.codes(xs)
	d.words(t, xs, false, func(w a64.Vec) { t.Op("VUSHR", 4, w.B16(), w.B16()) })
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
