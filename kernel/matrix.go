package kernel

import (
	"fmt"
	"unsafe"
)

// Matrix is a strided view of rows and columns in a slice that stays the caller's,
// for [Linear]. The zero Matrix is empty.
//
// Constructors never fail: calls check their arguments and name the one that does not
// fit its slice.
type Matrix struct {
	f32                  []float32 // the slice of Float32
	other                slice     // or of another type
	dtype                DType
	rows, cols           int
	rowStride, colStride int // in elements
}

// Float is a type that the elements of a Matrix may have.
type Float interface {
	float32 | F16 | BF16
}

// Rows is a view of a contiguous matrix at the start of data, one row after the other.
func Rows[E Float](data []E, rows, cols int) Matrix {
	return StridedMatrix(data, rows, cols, cols, 1)
}

// StridedMatrix is a view with any strides, which count elements of data: element (i, j) is
// data[i·rowStride + j·colStride].
func StridedMatrix[E Float](data []E, rows, cols, rowStride, colStride int) Matrix {
	m := Matrix{rows: rows, cols: cols, rowStride: rowStride, colStride: colStride}
	switch data := any(data).(type) {
	case []float32:
		m.f32 = data
	case []F16:
		m.dtype, m.other = Float16, sliceOf(data)
	case []BF16:
		m.dtype, m.other = BFloat16, sliceOf(data)
	}
	return m
}

// T returns the transposed view of the same memory.
func (m Matrix) T() Matrix {
	m.rows, m.cols = m.cols, m.rows
	m.rowStride, m.colStride = m.colStride, m.rowStride
	return m
}

// Shape returns the numbers of rows and columns.
func (m Matrix) Shape() (rows, cols int) { return m.rows, m.cols }

// Strides returns the distances between neighbours in a column and in a row, in
// elements.
func (m Matrix) Strides() (row, col int) { return m.rowStride, m.colStride }

// DType returns the type of the elements.
func (m Matrix) DType() DType { return m.dtype }

// u16 returns the bits of Float16 and BFloat16.
func (m *Matrix) u16() []uint16 { return unsafe.Slice((*uint16)(m.other.data), m.other.n) }

// len returns the number of elements in the matrix's slice.
func (m *Matrix) len() int { return len(m.f32) + m.other.n }

// extent is that of Tensor.
func (m *Matrix) extent() int {
	if m.rows == 0 || m.cols == 0 {
		return 0
	}
	n := 1
	if m.rows > 1 {
		n = addSat(n, mulSat(m.rows-1, m.rowStride))
	}
	if m.cols > 1 {
		n = addSat(n, mulSat(m.cols-1, m.colStride))
	}
	return n
}

// check reports a matrix that is not valid by itself.
func (m *Matrix) check(name string) error {
	fault := func(want string) error { return &ArgumentError{name, m.describe(), want} }
	switch {
	case m.rows < 0 || m.cols < 0:
		return fault("no negative dimension")
	case m.rows > 1 && m.rowStride < 0 || m.cols > 1 && m.colStride < 0:
		return fault("no negative stride")
	}
	if n := m.extent(); n > m.len() {
		return fault(wantElements(n))
	}
	return nil
}

// checkDistinct reports a matrix two of whose elements share an address, or may.
func (m *Matrix) checkDistinct(name string) error {
	inner, outer := m.cols, m.rows // the shorter stride first
	inside, outside := m.colStride, m.rowStride
	if m.cols == 1 || m.rows > 1 && inside > outside {
		inner, outer, inside, outside = outer, inner, outside, inside
	}
	if m.extent() > 0 && (inner > 1 && inside < 1 || outer > 1 && outside <= (inner-1)*inside) {
		return &ArgumentError{name, m.describe(), "strides that nest, so that no two elements overlap"}
	}
	return nil
}

// describe names the matrix's shape, strides and slice length, and its type if that
// is not the usual one.
func (m *Matrix) describe() string {
	text := fmt.Sprintf("[%d %d] with strides [%d %d] in %d elements", m.rows, m.cols, m.rowStride, m.colStride, m.len())
	if m.dtype != Float32 {
		text = m.dtype.String() + " " + text
	}
	return text
}

// memory is what lies between the first element and the last of a valid matrix.
func (m *Matrix) memory() memory {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(m.f32)))
	if m.dtype != Float32 {
		at = uintptr(m.other.data)
	}
	return memory{at, at + uintptr(m.dtype.size()*m.extent())}
}
