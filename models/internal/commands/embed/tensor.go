package embed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/attn-go/attn/models/embedding"
)

// A tensorFile writes a matrix with a header that says how many rows there are. As
// that is known at the end only, the header has a fixed size and is written twice.
type tensorFile struct {
	w           io.WriteSeeker
	rows, width int
	numbers     number
	header      func(rows, width int, n number) []byte
	scales      []float32 // of the rows, if the numbers have any
}

// A number is a type of the numbers of a file.
type number struct {
	bytes       int
	numpy, name string // in the headers of .npy and of .safetensors
	scaled      bool   // each row has a scale
	encode      func(b []byte, v []float32) (all []byte, scale float32, err error)
}

// numbers are the types by their names in -type.
var numbers = map[string]number{
	"f32": {4, "<f4", "F32", false, func(b []byte, v []float32) ([]byte, float32, error) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b, 0, nil
	}},
	"f16": {2, "<f2", "F16", false, func(b []byte, v []float32) ([]byte, float32, error) {
		for _, x := range embedding.Float16([][]float32{v})[0] {
			b = binary.LittleEndian.AppendUint16(b, uint16(x))
		}
		return b, 0, nil
	}},
	"int8": {1, "", "I8", true, func(b []byte, v []float32) ([]byte, float32, error) {
		rows, scales, err := embedding.Int8([][]float32{v})
		if err != nil {
			return nil, 0, err
		}
		for _, x := range rows[0] {
			b = append(b, byte(x))
		}
		return b, scales[0], nil
	}},
}

func (f *tensorFile) put(_ []line, vectors [][]float32) error {
	var b bytes.Buffer
	if f.rows == 0 {
		b.Write(f.header(0, f.width, f.numbers))
		if _, err := f.w.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	for _, v := range vectors {
		row, scale, err := f.numbers.encode(b.AvailableBuffer(), v)
		if err != nil {
			return err
		}
		b.Write(row)
		if f.numbers.scaled {
			f.scales = append(f.scales, scale)
		}
	}
	f.rows += len(vectors)
	_, err := f.w.Write(b.Bytes())
	return err
}

// close writes the scales behind the rows, and the header again.
func (f *tensorFile) close() error {
	if f.rows > 0 && f.scales != nil {
		b, _, _ := numbers["f32"].encode(nil, f.scales)
		if _, err := f.w.Write(b); err != nil {
			return err
		}
	}
	if _, err := f.w.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := f.w.Write(f.header(f.rows, f.width, f.numbers))
	return err
}

// npyHeader is the header of NumPy's format, version 1.0: 128 bytes.
func npyHeader(rows, width int, n number) []byte {
	const size = 128
	h := []byte("\x93NUMPY\x01\x00")
	h = binary.LittleEndian.AppendUint16(h, size-10)
	h = fmt.Appendf(h, "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", n.numpy, rows, width)
	return append(h, strings.Repeat(" ", size-1-len(h))+"\n"...)
}

// safetensorsHeader describes the tensor embeddings, and scales if there are any: 256 bytes, of
// which the last are spaces.
func safetensorsHeader(rows, width int, n number) []byte {
	const size = 256
	h := binary.LittleEndian.AppendUint64(nil, size-8)
	end := n.bytes * rows * width
	h = fmt.Appendf(h, `{"embeddings":{"dtype":"%s","shape":[%d,%d],"data_offsets":[0,%d]}`, n.name, rows, width, end)
	if n.scaled {
		h = fmt.Appendf(h, `,"scales":{"dtype":"F32","shape":[%d],"data_offsets":[%d,%d]}`, rows, end, end+4*rows)
	}
	h = append(h, '}')
	return append(h, strings.Repeat(" ", size-len(h))...)
}
