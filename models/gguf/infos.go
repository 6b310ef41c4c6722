package gguf

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	maxTensorName = 64 // bytes
	maxDimensions = 4
)

// An info is what the file says about a tensor beside name, type and shape.
type info struct {
	tensor int // its position in File.tensors
	offset uint64
	size   int // in bytes; 0 if the type is unknown
	at     int // where the offset stands in the file
}

// parseInfos reads the descriptions of n tensors.
func (f *File) parseInfos(r *reader, n int) ([]info, error) {
	f.names = make(map[string]int, n)
	f.tensors = make([]Tensor, 0, n)
	infos := make([]info, 0, n)
	for i := range n {
		t, in, err := f.parseInfo(r, i)
		if err != nil {
			return nil, err
		}
		f.names[t.Name] = i
		f.tensors = append(f.tensors, t)
		infos = append(infos, in)
	}
	return infos, nil
}

func (f *File) parseInfo(r *reader, i int) (t Tensor, in info, err error) {
	r.part, r.named = "name of a tensor", ""
	at := r.at
	if t.Name, err = r.name(maxTensorName); err != nil {
		return t, in, err
	}
	r.part, r.named = "tensor", t.Name
	if _, twice := f.names[t.Name]; twice {
		return t, in, r.fail(at, "one", "a second tensor of this name")
	}
	at = r.at
	if t.Shape, err = r.shape(); err != nil {
		return t, in, err
	}
	kind, err := r.uint32()
	if err != nil {
		return t, in, err
	}
	t.Type = Type(kind)
	in = info{tensor: i, at: r.at}
	if in.offset, err = r.uint64(); err != nil {
		return t, in, err
	}
	in.size, err = r.size(t, at)
	return t, in, err
}

// shape reads the dimensions of a tensor.
func (r *reader) shape() ([]int, error) {
	at := r.at
	n, err := r.uint32()
	if err != nil {
		return nil, err
	}
	if n > maxDimensions {
		return nil, r.fail(at, fmt.Sprintf("at most %d", maxDimensions), "%d dimensions", n)
	}
	shape := make([]int, n)
	for i := range shape {
		at := r.at
		d, err := r.uint64()
		if err != nil {
			return nil, err
		}
		if d > math.MaxInt {
			return nil, r.fail(at, fmt.Sprintf("at most %d", math.MaxInt), "dimension %d", d)
		}
		shape[len(shape)-1-i] = int(d)
	}
	return shape, nil
}

// size returns the size of a tensor in bytes, whose dimensions stand at this offset.
func (r *reader) size(t Tensor, at int) (int, error) {
	l := t.Type.layout()
	if l.elements == 0 {
		return 0, nil
	}
	_, size, ok := sizeOf(l, t.Shape)
	if !ok {
		return 0, r.fail(at, fmt.Sprintf("rows of whole blocks of %d elements, and at most %d bytes", l.elements, math.MaxInt),
			"shape %d of type %s", t.Shape, t.Type)
	}
	return size, nil
}

// place finds the tensors in the data, which begin at the next multiple of the alignment. It
// checks that they lie there and do not overlap.
func (f *File) place(r *reader, infos []info) error {
	// A file without tensors may end before the padding.
	r.part, r.named = "padding before the data", ""
	padding := -r.at & (f.alignment - 1)
	if len(infos) > 0 && padding > r.left() {
		return r.fail(r.at, fmt.Sprintf("%d", padding), "%d bytes", r.left())
	}
	f.data = r.at + min(padding, r.left())
	slices.SortFunc(infos, func(a, b info) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.size, b.size), cmp.Compare(a.tensor, b.tensor))
	})
	end := uint64(0) // of the tensors so far, from the start of the data
	for _, in := range infos {
		t := &f.tensors[in.tensor]
		r.part, r.named = "tensor", t.Name
		if err := f.check(r, in, end); err != nil {
			return err
		}
		if t.Type.layout().elements > 0 {
			begin := f.data + int(in.offset)
			t.Data = r.data[begin : begin+in.size : begin+in.size]
			end = in.offset + uint64(in.size)
		}
	}
	return nil
}

// check checks the place of a tensor, while the ones before it end at this byte of the data.
func (f *File) check(r *reader, in info, end uint64) error {
	if in.offset%uint64(f.alignment) != 0 {
		return r.fail(in.at, fmt.Sprintf("a multiple of the alignment %d", f.alignment), "offset %d", in.offset)
	}
	if all := uint64(len(r.data) - f.data); in.offset > all || uint64(in.size) > all-in.offset {
		return r.fail(in.at, "the whole file: download it again", "truncated: %d bytes at offset %d of the %d bytes of data", in.size, in.offset, all)
	}
	if in.offset < end {
		return r.fail(in.at, fmt.Sprintf("at least %d, where the tensor before it ends", end), "offset %d", in.offset)
	}
	return nil
}
