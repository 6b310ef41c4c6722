package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// A tensorFile writes a matrix of float32 with a header that says how many rows there are. As
// that is known at the end only, the header has a fixed size and is written twice.
type tensorFile struct {
	w           io.WriteSeeker
	rows, width int
	header      func(rows, width int) []byte
}

func (f *tensorFile) put(_ []line, vectors [][]float32) error {
	var b bytes.Buffer
	if f.rows == 0 {
		b.Write(f.header(0, f.width))
		if _, err := f.w.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	for _, v := range vectors {
		for _, x := range v {
			b.Write(binary.LittleEndian.AppendUint32(b.AvailableBuffer(), math.Float32bits(x)))
		}
	}
	f.rows += len(vectors)
	_, err := f.w.Write(b.Bytes())
	return err
}

func (f *tensorFile) close() error {
	if _, err := f.w.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := f.w.Write(f.header(f.rows, f.width))
	return err
}

// npyHeader is the header of NumPy's format, version 1.0: 128 bytes.
func npyHeader(rows, width int) []byte {
	const size = 128
	h := []byte("\x93NUMPY\x01\x00")
	h = binary.LittleEndian.AppendUint16(h, size-10)
	h = fmt.Appendf(h, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, width)
	return append(h, strings.Repeat(" ", size-1-len(h))+"\n"...)
}

// safetensorsHeader describes one tensor, embeddings: 256 bytes, of which the last are spaces.
func safetensorsHeader(rows, width int) []byte {
	const size = 256
	h := binary.LittleEndian.AppendUint64(nil, size-8)
	h = fmt.Appendf(h, `{"embeddings":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]}}`, rows, width, 4*rows*width)
	return append(h, strings.Repeat(" ", size-len(h))...)
}
