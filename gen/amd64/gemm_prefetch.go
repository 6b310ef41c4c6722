package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A query tile that is alone with its keys waits for them unless they are in the cache: few rows do
// not take long with a block of K and V, and the processor's own prefetcher follows neither the
// loads of K, which visit the rows of a register tile in turn, nor the loads of V, which go down
// its rows and take a few columns of each. So query tiles of some shapes prefetch.
//
// Scores: A is K. Before each segment come the columns of that segment in the rows of the
// next register tile, into the first-level cache.
//
// Weighted sums: the steps go down the rows of V, and a register tile takes some columns of
// them, 6 of the 16 in a line. Each iteration prefetches the next line of one row, into the
// second-level cache: this register tile for the even rows, the next one for the odd ones, as
// an iteration is two steps. So every line is prefetched some thousand cycles before it is
// needed, and memory works evenly. The first line of the rows is not prefetched. Addresses of
// consecutive register tiles differ by 24 bytes, so bit 3 tells whose turn it is.
//
// On Zen 3, with 8 KV heads and 1024 keys of size 128 in L3, 16 rows gain a factor of 2.6 (31 to 84
// GFLOP/s, least times), 32 rows 1.8 and 64 rows 1.5. If keys and values are in L1 or L2 the time
// is the same.

// lookAhead computes ahead for weighted sums: the next line, in this row or in the next one.
func (t *gemmer) lookAhead(rows int, p reg.GPVirtual) {
	t.ahead = nil
	if rows != t.prefetched || t.weights {
		return
	}
	ahead := t.copyOf(p)
	t.g.SHRQ(operand.Imm(3), ahead)
	t.g.ANDQ(operand.Imm(1), ahead)
	t.g.IMULQ(t.cs, ahead)
	t.g.ADDQ(operand.Imm(spec.LineBytes), ahead)
	t.ahead = ahead
}

// prefetchColumns emits the prefetch of an iteration. Scores have a loop of their own without it:
// on Zen 4 they would take 1 to 2% longer.
func (t *gemmer) prefetchColumns(p reg.GPVirtual) {
	if t.ahead != nil {
		t.g.PREFETCHT1(emit.Indexed(p, t.ahead, 1))
	}
}

// prefetchRows emits the prefetches before a segment of scores.
func (t *gemmer) prefetchRows(rows int, name string) {
	if rows != t.prefetched || t.weights {
		return
	}
	t.g.CMPQ(t.mode, operand.Imm(maxOne))
	t.g.JL(operand.LabelRef(name + "prefetched"))
	next := t.copyOf(t.p)
	t.skip(next, rows)
	for i := range rows {
		for d := 0; d < 4*spec.ColumnSegment; d += spec.LineBytes {
			m := t.address(next, i)
			m.Disp = d
			t.g.PREFETCHT0(m)
		}
	}
	t.g.Label(name + "prefetched")
}

// farRows is the least number of rows of A of which the next register tile's are prefetched. Fewer
// are in L1, and with 8 and 16 of them and a panel from memory the prefetches cost 3 to 10% on Zen
// 3, so that they have a loop without.
const farRows = 48

// lookAtNextRows computes how far the rows of A lie ahead that the next register tile multiplies
// with the panel, 0 if there are few.
//
// The rows of a linear layer's input are too many for L1, and the processor's own prefetcher, which
// knows nothing of rows, begins anew in each. On Zen 3 (AVX2) calls of 512 rows take 2 to 3% less
// time by these prefetches. All in one place before a segment made them slower, and prefetches of C
// made no difference.
func (t *gemmer) lookAtNextRows() {
	if t.prefetched == 0 {
		return
	}
	t.nextRows = make([]reg.GPVirtual, t.prefetched)
	for i := range t.nextRows {
		t.nextRows[i] = t.g.GP64()
	}
	zero, first := t.g.GP64(), t.nextRows[0]
	t.g.XORQ(zero, zero)
	t.g.IMUL3Q(operand.U32(t.prefetched), t.rs, first)
	t.g.CMPQ(t.m, operand.U32(farRows))
	t.g.CMOVQLT(zero, first)
	for i := 1; i < len(t.nextRows); i++ {
		t.g.LEAQ(emit.Indexed(t.nextRows[i-1], t.rs, 1), t.nextRows[i])
	}
}

// prefetchNextRows emits the prefetches of an unrolled step; the steps share the rows.
func (t *gemmer) prefetchNextRows(rows, step int) {
	if rows != t.prefetched {
		return
	}
	for i := step; i < len(t.nextRows); i += unroll {
		t.g.PREFETCHT0(emit.Indexed(t.p, t.nextRows[i], 1))
	}
}

// fetchSums prefetches C if the first segment is added to it. By the time it is needed, the
// processor cannot look ahead to the next tile's any more. The gradients of attention, which are
// added up in memory, take 2 to 4% less time on Emerald Rapids with 2048 keys of 128 numbers.
// AVX2's smaller tiles have no register left for it.
func (t *gemmer) fetchSums(acc [][]reg.VecVirtual, name string) {
	if t.weights || len(acc)*t.vectors < manyFMAs {
		return
	}
	t.g.CMPQ(t.mode, operand.Imm(storeMore))
	t.g.JNE(operand.LabelRef(name + "fetched"))
	t.g.CMPQ(t.adds, operand.Imm(0))
	t.g.JE(operand.LabelRef(name + "fetched"))
	c := t.copyOf(t.c)
	t.g.MOVQ(operand.U32(len(acc)), t.k)
	t.g.Label(name + "fetch")
	for v := 0; v < t.vectors*t.g.VecBytes(); v += spec.LineBytes {
		t.g.PREFETCHT0(emit.At(c, v))
	}
	t.g.ADDQ(t.ldc, c)
	t.g.CountDown(t.k, 1, name+"fetch")
	t.g.Label(name + "fetched")
}
