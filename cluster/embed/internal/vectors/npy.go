package vectors

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// npy writes a matrix of float32 [rows, width] in NumPy's format, version 1.0. A row without
// a vector is NaN, with the bits of noVector.
type npy struct {
	w     io.Writer
	width int
	buf   []byte
}

const noVector = 0x7fc00000

func newNPY(w io.Writer, width int, rows int64) (sink, error) {
	const size = 128 // a multiple of 64
	h := []byte("\x93NUMPY\x01\x00")
	h = binary.LittleEndian.AppendUint16(h, size-10)
	h = fmt.Appendf(h, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, width)
	h = append(h, strings.Repeat(" ", size-1-len(h))+"\n"...)
	_, err := w.Write(h)
	return &npy{w: w, width: width}, err
}

func (n *npy) put(_ int64, r Row) error {
	n.buf = n.buf[:0]
	for i := range n.width {
		bits := uint32(noVector)
		if r.Vector != nil {
			bits = math.Float32bits(r.Vector[i])
		}
		n.buf = binary.LittleEndian.AppendUint32(n.buf, bits)
	}
	_, err := n.w.Write(n.buf)
	return err
}

func (n *npy) close() error { return nil }
