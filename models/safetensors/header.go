package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// An entry is the description of a tensor in the header.
type entry struct {
	DType   *string `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// parseHeader reads the descriptions of the tensors and the metadata. The offsets still count
// from the start of the data.
func (f *File) parseHeader(header []byte) error {
	dec := json.NewDecoder(bytes.NewReader(header))
	if t, err := dec.Token(); err != nil {
		return fmt.Errorf("header: %w", err)
	} else if t != json.Delim('{') {
		return errors.New("header: not a JSON object")
	}
	f.tensors = map[string]Info{}
	for dec.More() {
		if err := f.parseEntry(dec); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if rest := bytes.TrimSpace(header[dec.InputOffset():]); len(rest) > 0 {
		return errors.New("header: text after the JSON object")
	}
	return nil
}

// parseEntry reads one key of the header and its value.
func (f *File) parseEntry(dec *json.Decoder) error {
	key, err := dec.Token()
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	name, _ := key.(string)
	if name == "__metadata__" {
		if err := dec.Decode(&f.metadata); err != nil {
			return fmt.Errorf("header: __metadata__: %w", err)
		}
		return nil
	}
	var e entry
	if err := dec.Decode(&e); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	if _, twice := f.tensors[name]; twice {
		return fmt.Errorf("tensor %q is described twice", name)
	}
	f.tensors[name], err = e.info()
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	return nil
}

// info returns the description of the tensor, if shape, dtype and offsets agree.
func (e *entry) info() (Info, error) {
	if e.DType == nil || e.Shape == nil || len(e.Offsets) != 2 {
		return Info{}, errors.New("want dtype, shape and two data_offsets")
	}
	item, ok := itemBytes[*e.DType]
	if !ok {
		return Info{}, fmt.Errorf("unknown dtype %q", *e.DType)
	}
	begin, end := e.Offsets[0], e.Offsets[1]
	if begin < 0 || end < begin {
		return Info{}, fmt.Errorf("data_offsets [%d, %d]", begin, end)
	}
	if slices.ContainsFunc(e.Shape, func(d int64) bool { return d < 0 }) {
		return Info{}, fmt.Errorf("shape %d", e.Shape)
	}
	n, ok := bytesOf(e.Shape, item)
	if !ok {
		return Info{}, fmt.Errorf("shape %d: the size overflows", e.Shape)
	}
	t := Info{DType: *e.DType, Shape: make([]int, len(e.Shape)), Begin: begin, End: end}
	for i, d := range e.Shape {
		// Beside a dimension of 0, another may exceed a 32-bit int.
		if d > math.MaxInt {
			return Info{}, fmt.Errorf("shape %d: dimension %d overflows an int", e.Shape, i)
		}
		t.Shape[i] = int(d)
	}
	if n != end-begin {
		return Info{}, fmt.Errorf("shape %d of %s is %d bytes, data_offsets [%d, %d] are %d", e.Shape, *e.DType, n, begin, end, end-begin)
	}
	return t, nil
}
