package view

import (
	"math"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
)

// Memory is a range of addresses [lo, hi).
type Memory struct{ lo, hi uintptr }

// MemoryOf returns the memory of the elements of s.
func MemoryOf[E any](s []E) Memory {
	return memoryAt(unsafe.Pointer(unsafe.SliceData(s)), len(s)*int(unsafe.Sizeof(*new(E))))
}

// memoryAt returns the memory of n bytes at p.
func memoryAt(p unsafe.Pointer, n int) Memory { return Memory{uintptr(p), uintptr(p) + uintptr(n)} }

// Memory returns the range from the tensor's first element to its last, as far as
// it lies in its slice.
func (t *Tensor) Memory() Memory {
	if t.Len() == 0 {
		return Memory{}
	}
	all := t.storage()
	n := min(max(all.extent(), 0), t.Len())
	if t.dtype == Float32 {
		return MemoryOf(t.f32[:n])
	}
	return memoryAt(t.other.data, t.dtype.Bytes(n))
}

// MemoryOfRows returns the range from the first element to the last of n ≥ 1 rows, from l
// on, of all heads of batch row or page b. The tensor is valid and has heads.
func (t *Tensor) MemoryOfRows(b, l, n int) Memory {
	at := t.grid.At(b, 0, l)
	count := (t.grid.Shape[1]-1)*t.grid.Stride[1] + (n-1)*t.grid.Stride[2] + t.grid.Shape[3]
	if t.dtype == Float32 {
		return MemoryOf(t.f32[at : at+count])
	}
	return memoryAt(unsafe.Add(t.other.data, t.dtype.Bytes(at)), t.dtype.Bytes(count))
}

// Overlaps tells whether two ranges share an address.
func (m Memory) Overlaps(n Memory) bool { return max(m.lo, n.lo) < min(m.hi, n.hi) }

// OverlapsTensor tells whether the range shares an address with a tensor or its
// scales.
func (m Memory) OverlapsTensor(t *Tensor) bool {
	return m.Overlaps(t.Memory()) || t.scales != nil && m.Overlaps(t.scales.Memory())
}

// CheckBeside reports an output that shares memory with a tensor of these names, unless it is the
// same rows.
func (t *Tensor) CheckBeside(arg string, names []string, others ...*Tensor) *check.Failure {
	m := t.Memory()
	for i, x := range others {
		if m.Overlaps(x.Memory()) && !t.IsSame(x) {
			return &check.Failure{Where: arg, Got: "memory that overlaps " + names[i], Want: "memory of its own, or the same rows"}
		}
	}
	return nil
}

// Overlap reports an output that shares memory with something else.
func Overlap(arg, with string) *check.Failure {
	return &check.Failure{Where: arg, Got: "memory that overlaps " + with, Want: "memory of its own"}
}

// CheckApart reports an output that shares memory with another argument. The first names and ranges
// are the ranges of a number of outputs.
func CheckApart(outputs int, names []string, memory ...Memory) *check.Failure {
	for i := range outputs {
		for k := i + 1; k < len(memory); k++ {
			if memory[i].Overlaps(memory[k]) {
				return Overlap(names[i], names[k])
			}
		}
	}
	return nil
}

// IsPartOf tells whether every row of t lies within the row of u with the same indices.
func (t *Tensor) IsPartOf(u *Tensor) bool {
	if t.dtype != u.dtype || t.grid.Stride != u.grid.Stride || t.Len() == 0 || u.Len() == 0 {
		return false
	}
	offset := int(t.Memory().lo - u.Memory().lo)
	return offset >= 0 && offset+t.dtype.Bytes(t.grid.Shape[3]) <= t.dtype.Bytes(u.grid.Shape[3])
}

// IsSame tells whether t and u are the same rows of the same memory.
func (t *Tensor) IsSame(u *Tensor) bool {
	return t.dtype == u.dtype && t.grid == u.grid && t.rows == u.rows &&
		unsafe.SliceData(t.f32) == unsafe.SliceData(u.f32) && t.other.data == u.other.data
}

// mostPlain bounds the dimensions, and mostStride the strides, of tensors that PlainMemory
// accepts: the sum of three of their products and a dimension does not overflow.
const (
	mostPlain  = 1 << 20
	mostStride = math.MaxInt / (4 * mostPlain)
)

// PlainMemory returns the memory of a tensor that is neither paged nor ragged, has elements and
// passes Check; its scales are apart. It does not accept all of them: if ok is false, Check
// decides.
func (t *Tensor) PlainMemory() (m Memory, ok bool) {
	if t.IsPaged() || t.IsRagged() || t.scales != nil && !t.fitsScales() {
		return m, false
	}
	g := &t.grid
	n := g.Shape[3]
	if uint(n-1) >= mostPlain {
		return m, false
	}
	for i, s := range g.Stride {
		last := g.Shape[i] - 1
		if uint(last) >= mostPlain || uint(s) >= mostStride {
			return m, false
		}
		n += last * s
	}
	switch {
	case n > t.Len():
		return m, false
	case t.dtype == Float32:
		return MemoryOf(t.f32[:n]), true
	case !t.dtype.IsKnown() || t.dtype.IsScaled() != (t.scales != nil) || !g.isMultiple(t.dtype.PerByte()):
		return m, false
	}
	return memoryAt(t.other.data, t.dtype.Bytes(n)), true
}

// fitsScales tells whether the scales certainly pass checkScales.
func (t *Tensor) fitsScales() bool {
	s, e := &t.scales.grid.Shape, &t.grid.Shape
	if t.dtype == Float32 || t.scales.dtype != Float32 || t.scales.scales != nil || s[0] != e[0] || s[1] != e[1] || s[2] < e[2] {
		return false
	}
	_, ok := t.scales.PlainMemory()
	return ok && e[3]%s[3] == 0 && t.Group()%t.dtype.PerByte() == 0
}

// IsOrdered tells whether the elements of a tensor that PlainMemory accepts are distinct, and
// lie in the order [B, H, L, D] or [B, L, H, D]. If not, CheckDistinct decides.
func (t *Tensor) IsOrdered() bool {
	s := &t.grid.Shape
	batch, outer, inner := t.grid.Stride[0], t.grid.Stride[1], t.grid.Stride[2]
	outers, inners := s[1], s[2]
	if outer < inner {
		outer, inner, outers, inners = inner, outer, inners, outers
	}
	row := s[3]
	if inners > 1 {
		if inner < row {
			return false
		}
		row += (inners - 1) * inner
	}
	if outers > 1 {
		if outer < row {
			return false
		}
		row += (outers - 1) * outer
	}
	return s[0] == 1 || batch >= row
}
