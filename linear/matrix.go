package linear

import (
	"fmt"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Matrix is a strided view of rows and columns in a slice that stays the caller's: of
// float32, [kernel.F16] or [kernel.BF16]. The zero Matrix is empty.
//
// Constructors never fail: the call that a Matrix is passed to checks it and names the
// argument that does not fit its slice.
type Matrix struct {
	f32                  []float32 // the slice of Float32
	u16                  []uint16  // the bits of Float16 and BFloat16
	dtype                view.DType
	rows, cols           int
	rowStride, colStride int // in elements
}

// DenseMatrix returns a view of a contiguous matrix at the start of data, one row after
// the other.
func DenseMatrix[E kernel.Float](data []E, rows, cols int) Matrix {
	return StridedMatrix(data, rows, cols, cols, 1)
}

// StridedMatrix returns a view with any strides, in elements of data: element (i, j) is
// data[i·rowStride + j·colStride].
func StridedMatrix[E kernel.Float](data []E, rows, cols, rowStride, colStride int) Matrix {
	m := Matrix{rows: rows, cols: cols, rowStride: rowStride, colStride: colStride}
	switch data := any(data).(type) {
	case []float32:
		m.f32 = data
	case []kernel.F16:
		m.dtype, m.u16 = view.Float16, halves(data)
	case []kernel.BF16:
		m.dtype, m.u16 = view.BFloat16, halves(data)
	}
	return m
}

// halves returns 16-bit numbers as bits.
func halves[E ~uint16](data []E) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(data))), len(data))
}

// words are the bits of numbers.
func words(data []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(data))), len(data))
}

// T returns the transposed view of the same memory.
func (m Matrix) T() Matrix {
	m.rows, m.cols = m.cols, m.rows
	m.rowStride, m.colStride = m.colStride, m.rowStride
	return m
}

// Shape returns the numbers of rows and columns.
func (m Matrix) Shape() (rows, cols int) { return m.rows, m.cols }

// Strides returns the distances from one row to the next and from one column to the
// next, in elements.
func (m Matrix) Strides() (row, col int) { return m.rowStride, m.colStride }

// DType returns the type of the elements.
func (m Matrix) DType() kernel.DType { return kernel.DType(m.dtype) }

// String returns the element type, the shape and the strides, not the elements.
func (m Matrix) String() string {
	return fmt.Sprintf("%s [%d %d] with strides [%d %d]", m.dtype, m.rows, m.cols, m.rowStride, m.colStride)
}

// len returns the number of elements in the slice.
func (m *Matrix) len() int { return len(m.f32) + len(m.u16) }

// extent returns the number of elements from the first to the last one that the view
// can touch, at most math.MaxInt.
func (m *Matrix) extent() int {
	if m.rows == 0 || m.cols == 0 {
		return 0
	}
	n := 1
	if m.rows > 1 {
		n = ints.AddSat(n, ints.MulSat(m.rows-1, m.rowStride))
	}
	if m.cols > 1 {
		n = ints.AddSat(n, ints.MulSat(m.cols-1, m.colStride))
	}
	return n
}

// memory returns the range from the first element to the last of a valid matrix.
func (m *Matrix) memory() view.Memory {
	if m.dtype == view.Float32 {
		return view.MemoryOf(m.f32[:m.extent()])
	}
	return view.MemoryOf(m.u16[:m.extent()])
}

// announce tells the race detector of an access to all elements of a valid matrix.
func (m *Matrix) announce(a view.Access) {
	cols, rows := view.Dim{N: m.cols, Stride: m.colStride}, view.Dim{N: m.rows, Stride: m.rowStride}
	if m.dtype == view.Float32 {
		view.AnnounceGrid(a, m.f32, 1, cols, rows)
	} else {
		view.AnnounceGrid(a, m.u16, 1, cols, rows)
	}
}

// failure reports the matrix as argument arg.
func (m *Matrix) failure(arg, want string, args ...any) *check.Failure {
	got := fmt.Sprintf("[%d %d] with strides [%d %d] in %d elements", m.rows, m.cols, m.rowStride, m.colStride, m.len())
	if m.dtype != view.Float32 {
		got = m.dtype.String() + " " + got
	}
	return &check.Failure{Where: arg, Got: got, Want: fmt.Sprintf(want, args...)}
}

// check reports a matrix that is not valid by itself.
func (m *Matrix) check(arg string) *check.Failure {
	switch {
	case m.rows < 0 || m.cols < 0:
		return m.failure(arg, "no negative dimension")
	case m.rows > 1 && m.rowStride < 0 || m.cols > 1 && m.colStride < 0:
		return m.failure(arg, "no negative stride")
	}
	if n := m.extent(); n > m.len() {
		return m.failure(arg, "%s", view.WantElements(n))
	}
	return nil
}

// checkFloats reports a matrix that is not valid by itself, or not of float32.
func (m *Matrix) checkFloats(arg string) *check.Failure {
	if f := m.check(arg); f != nil {
		return f
	}
	if m.dtype != view.Float32 {
		return m.failure(arg, "float32")
	}
	return nil
}

// checkOutput reports a matrix that is no output: its rows are contiguous, and no two elements
// share an address.
func (m *Matrix) checkOutput(arg string) *check.Failure {
	if m.cols > 1 && m.colStride != 1 {
		return m.failure(arg, "contiguous rows")
	}
	return m.checkDistinct(arg)
}

// checkDistinct reports a matrix two of whose elements may share an address.
func (m *Matrix) checkDistinct(arg string) *check.Failure {
	inner, outer := m.cols, m.rows // the shorter stride first
	inside, outside := m.colStride, m.rowStride
	if m.cols == 1 || m.rows > 1 && inside > outside {
		inner, outer, inside, outside = outer, inner, outside, inside
	}
	if m.extent() > 0 && (inner > 1 && inside < 1 || outer > 1 && outside <= (inner-1)*inside) {
		return m.failure(arg, "strides that nest, so that no two elements overlap")
	}
	return nil
}
