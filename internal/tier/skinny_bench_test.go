package tier

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// BenchmarkSkinny times the products of decoding, block by block, by the number of query rows: with
// the keys or values in L1, and from memory with prefetches. Where both take as long, the kernel is
// what limits, not memory.
func BenchmarkSkinny(b *testing.B) {
	const size = 96 << 20 // bytes, more than a cache has
	var memory []uint16
	eachTier(func(t *Tier) {
		p := t.set(slices.IndexFunc(t.Widths, func(w int) bool { return w >= skinnyRows[len(skinnyRows)-1] }))
		for _, c := range skinnyCases(p) {
			for _, rows := range skinnyRows {
				for _, from := range []string{"L1", "memory"} {
					b.Run(fmt.Sprintf("kernel=%s/tier=%s/rows=%d/from=%s", c.kernel, t.Name, rows, from), func(b *testing.B) {
						if memory == nil {
							memory = hugepages.Make[uint16](size / 2)
							for i := range memory {
								memory[i] = 0x3800 | uint16(i%251) // finite in all types
							}
						}
						bytes, keys, at := c.bytes, skinnyBlock, 0
						if from == "L1" {
							keys = 8 << 10 / bytes
						}
						b.SetBytes(int64(keys * bytes))
						for b.Loop() {
							x := unsafe.Pointer(&memory[at/2])
							c.call(x, unsafe.Add(x, skinnyAhead), rows, keys)
							if from == "memory" {
								if at += keys * bytes; at+keys*bytes+skinnyAhead > size {
									at = 0
								}
							}
						}
					})
				}
			}
		}
	})
}

// The numbers of query rows; the widths of tiles that have fewer lanes do not do.
var skinnyRows = []int{1, 2, 4, 8}

// The columns of rows, how many of int4 share a scale, the rows of a block, and how many bytes
// ahead they are prefetched.
const (
	skinnyColumns = 128
	packedGroup   = 32
	skinnyBlock   = 256
	skinnyAhead   = 8 << 10
)

// A skinnyCase calls a kernel on some keys or values of its type at x.
type skinnyCase struct {
	kernel string
	bytes  int // of a row
	call   func(x, next unsafe.Pointer, rows, keys int)
}

func skinnyCases(p *kernelSet) (cases []skinnyCase) {
	const d, packed = skinnyColumns, skinnyColumns / 2
	k, w := &p.Skinny, p.Lanes
	s, q, o := testutil.Floats(skinnyBlock*w), testutil.Floats(d*w), make([]float32, w*d)
	top, scales := testutil.Filled(w, 1), testutil.Filled(d/packedGroup*skinnyBlock, 1)
	pairs := make([]int32, skinnyBlock*w)
	add := func(kernel string, bytes int, has bool, call func(x, next unsafe.Pointer, rows, keys int)) {
		if has {
			cases = append(cases, skinnyCase{kernel, bytes, call})
		}
	}
	add("QK", 4*d, k.QK != nil, func(x, next unsafe.Pointer, n, m int) {
		k.QK(s, numbers[float32](x, m), d, q, n, m, d, top, numbers[float32](next, m), 0)
	})
	add("PV", 4*d, k.PV != nil, func(x, next unsafe.Pointer, n, m int) {
		k.PV(o, d, numbers[float32](x, m), d, s, w, n, m, d, false, numbers[float32](next, m), 0)
	})
	add("QKF16", 2*d, k.QKF16 != nil, func(x, next unsafe.Pointer, n, m int) {
		k.QKF16(s, numbers[uint16](x, m), d, q, n, m, d, top, numbers[uint16](next, m), 0)
	})
	add("PVF16", 2*d, k.PVF16 != nil, func(x, next unsafe.Pointer, n, m int) {
		k.PVF16(o, d, numbers[uint16](x, m), d, s, w, n, m, d, false, numbers[uint16](next, m), 0)
	})
	add("QKBF16", 2*d, k.QKBF16 != nil, func(x, next unsafe.Pointer, n, m int) {
		k.QKBF16(s, numbers[uint16](x, m), d, q, n, m, d, top, numbers[uint16](next, m), 0)
	})
	add("PVBF16", 2*d, k.PVBF16 != nil, func(x, next unsafe.Pointer, n, m int) {
		k.PVBF16(o, d, numbers[uint16](x, m), d, s, w, n, m, d, false, numbers[uint16](next, m), 0)
	})
	add("QKInt8", d, k.QKInt8 != nil, func(x, next unsafe.Pointer, n, m int) {
		k.QKInt8(ukernel.QKInt8Args{S: s, K: numbers[int8](x, m), Ldk: d, Scales: scales, Group: d, Q: q, N: n, M: m, D: d, Max: top, Next: numbers[int8](next, m)})
	})
	add("PVInt8", d, k.PVInt8 != nil, func(x, next unsafe.Pointer, n, m int) {
		k.PVInt8(ukernel.PVInt8Args{O: o, Ldo: d, V: numbers[int8](x, m), Ldv: d, Scales: scales, Lsc: 1, Group: d, P: s, Ldp: w, N: n, M: m, Dv: d, Next: numbers[int8](next, m)})
	})
	off, ahead := make([]int, skinnyBlock), make([]int, skinnyBlock)
	for i := range off {
		off[i] = i * packed
		ahead[i] = off[i] + skinnyAhead
	}
	add("QKRowsInt4", packed, k.QKRowsInt4 != nil, func(x, _ unsafe.Pointer, n, m int) {
		k.QKRowsInt4(ukernel.QKRowsInt8Args{S: s, K: numbers[int8](x, m), Off: off[:m], Scales: scales, Lsc: m, Group: packedGroup, Q: q, N: n, D: d, Max: top, Next: ahead[:m]})
	})
	add("PVRowsInt4", packed, k.PVRowsInt4 != nil, func(x, _ unsafe.Pointer, n, m int) {
		k.PVRowsInt4(ukernel.PVRowsInt8Args{O: o, Ldo: d, V: numbers[int8](x, m), Off: off[:m], Scales: scales, Lsc: d / packedGroup, Group: packedGroup, P: s, Ldp: w, N: n, Dv: d, Next: ahead[:m]})
	})
	bytes, far := make([]int, skinnyBlock), make([]int, skinnyBlock)
	for i := range bytes {
		bytes[i] = i * d
		far[i] = bytes[i] + skinnyAhead
	}
	add("QKRowsF8", d, k.QKRowsF8E4M3 != nil, func(x, _ unsafe.Pointer, n, m int) {
		k.QKRowsF8E4M3(s, numbers[byte](x, m), bytes[:m], q, n, d, top, far[:m])
	})
	add("PVRowsF8", d, k.PVRowsF8E4M3 != nil, func(x, _ unsafe.Pointer, n, m int) {
		k.PVRowsF8E4M3(o, d, numbers[byte](x, m), bytes[:m], s, w, n, d, false, far[:m])
	})
	add("QKCodes", d, k.QKCodes != nil, func(x, _ unsafe.Pointer, n, m int) {
		k.QKCodes(ukernel.QKCodesArgs{S: s, K: numbers[int8](x, m), Off: bytes[:m], Scales: scales, Group: d, Q: pairs, Unit: top, N: n, D: d, Max: top, Next: far[:m]})
	})
	add("PVCodes", d, k.PVCodes != nil, func(x, _ unsafe.Pointer, n, m int) {
		v := numbers[int8](x, m)
		for j := 0; j < m; j += ukernel.ValueSegment {
			end := min(j+ukernel.ValueSegment, m)
			k.PVCodes(ukernel.PVCodesArgs{O: o, Ldo: d, V: v, Off: bytes[j:end], Pairs: pairs, Ldp: w, Unit: top, Group: d, N: n, Dv: d, Load: j > 0, Next: far[j:end]})
		}
	})
	return cases
}

// numbers are the numbers of some rows at x.
func numbers[E any](x unsafe.Pointer, rows int) []E { return unsafe.Slice((*E)(x), rows*skinnyColumns) }
