package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// A Tensor is a tensor of float32 to be written.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// Write writes a file with the tensors, in their order. metadata may be nil. It returns an error
// of w, or one that says which tensor's name is taken or whose data do not fit its shape; then
// it has written nothing.
func Write(w io.Writer, metadata map[string]string, tensors []Tensor) error {
	header, err := header(metadata, tensors)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	if _, err := w.Write(append(b, header...)); err != nil {
		return err
	}
	for _, t := range tensors {
		b = b[:0]
		for _, x := range t.Data {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// fits tells whether the shape has as many elements as there are data.
func (t *Tensor) fits() bool {
	shape := make([]int64, len(t.Shape))
	for i, d := range t.Shape {
		if d < 0 {
			return false
		}
		shape[i] = int64(d)
	}
	n, ok := bytesOf(shape, 1)
	return ok && n == int64(len(t.Data))
}

// header returns the header, padded with spaces so that the data begin at a multiple of 8 bytes.
func header(metadata map[string]string, tensors []Tensor) ([]byte, error) {
	entries := map[string]any{}
	if metadata != nil {
		entries["__metadata__"] = metadata
	}
	at := 0
	for _, t := range tensors {
		if _, taken := entries[t.Name]; taken || t.Name == "__metadata__" {
			return nil, fmt.Errorf("tensor %q: the name is taken", t.Name)
		}
		if !t.fits() {
			return nil, fmt.Errorf("tensor %q: %d numbers for the shape %d", t.Name, len(t.Data), t.Shape)
		}
		end := at + 4*len(t.Data)
		entries[t.Name] = map[string]any{"dtype": "F32", "shape": append([]int{}, t.Shape...), "data_offsets": []int{at, end}}
		at = end
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(entries); err != nil { // in the order of the names
		return nil, err
	}
	h := bytes.TrimSpace(b.Bytes())
	return append(h, "        "[:(8-len(h)%8)%8]...), nil
}
