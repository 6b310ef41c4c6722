package tensors

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/inventory"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/internal/packed"
)

// A Reader takes the tensors of a model out of a store. The first error stays, and after
// it results are not to be used. With an inventory nothing is read: tensors are checked,
// each problem is noted, and so is the memory of what a model keeps.
type Reader struct {
	*Store
	Rename func(name string) string // names of the store, by the model's; nil if they are the same
	Pack   Pack
	More   bool // layers that guess further tokens are read

	Rounded int                  // layers that Pack.Precision has rounded to bfloat16
	Packed  *packed.Cache        // layers that were packed before, or are kept; nil for none
	Meter   *loading.Meter       // nil if nobody is told how far it is
	Dry     *inventory.Inventory // if not nil, nothing is read, and this notes what would be

	part   Numbers // of the layer that is read: memory that all of them use
	joined []byte  // likewise, of blocks
	room   []byte  // for pieces of files that are not mapped
	err    error
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail records an error, if it is the first one and not nil. A reader that reads nothing
// notes it, and goes on.
func (r *Reader) Fail(err error) {
	switch {
	case err == nil || r.err != nil:
	case r.Dry != nil:
		r.err = r.Dry.Problem(err)
	default:
		r.err = err
	}
}

// name returns the name of a tensor in the store.
func (r *Reader) name(name string) string {
	if r.Rename == nil {
		return name
	}
	return r.Rename(name)
}

// Has tells whether there is a tensor.
func (r *Reader) Has(name string) bool {
	_, ok := r.Info(name)
	return ok
}

// Info describes a tensor, and returns false if there is none.
func (r *Reader) Info(name string) (Info, bool) { return r.Store.Info(r.name(name)) }

// End tells that all is read. The error comes from keeping the packed layers.
func (r *Reader) End() error {
	r.part, r.joined, r.room = Numbers{}, nil, nil
	r.Meter.End()
	return r.endPacked()
}

// Done returns the first error, or the error of a tensor that nothing has asked for.
func (r *Reader) Done() error {
	if r.err != nil {
		return r.err
	}
	return r.Unused()
}

// Skip marks a tensor as used: its values can be told without reading them, or have no
// part in a result.
func (r *Reader) Skip(name string) { r.Use(r.name(name)) }

// find returns a tensor of a shape and of any of some types, or of any type that is widened to
// float32 if there are none, and marks it as used.
func (r *Reader) find(name string, types []gguf.Type, shape ...int) (*tensor, bool) {
	if r.err != nil {
		return nil, false
	}
	name = r.name(name)
	r.Use(name) // also one that does not fit, so that it is reported once
	t := r.tensors[name]
	info, _ := r.Store.Info(name)
	if fits := slices.Contains(types, info.Type) || types == nil && info.Type.Converts(); t == nil || !fits || !slices.Equal(info.Shape, shape) {
		r.Fail(r.bad(name, fmt.Sprintf("%s %v", r.wanted(types), shape)))
		return nil, false
	}
	return t, true
}

// Bad returns the error of a tensor that does not fit, or is not there.
func (r *Reader) Bad(name, want string) error { return r.bad(r.name(name), want) }

func (s *Store) bad(name, want string) error {
	info, _ := s.Info(name)
	return &kernel.Error{Where: s.Where(name), Got: info.String(), Want: want}
}

// wanted lists types.
func (r *Reader) wanted(types []gguf.Type) (text string) {
	if types == nil {
		return r.kinds
	}
	for i, t := range types {
		switch {
		case i > 0 && i == len(types)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += t.String()
	}
	return text
}

// Floats returns the numbers of a tensor of a shape, of any type that is widened to
// float32.
func (r *Reader) Floats(name string, shape ...int) []float32 {
	x := Numbers{Type: kernel.Float32}
	if t, ok := r.find(name, nil, shape...); ok {
		r.take(&x, t, 0, t.Bytes)
	}
	return x.f32
}

// Numbers returns the numbers of a tensor of a shape, F16 and BF16 as they are.
func (r *Reader) Numbers(name string, shape ...int) *Numbers {
	x := &Numbers{}
	if t, ok := r.find(name, nil, shape...); ok {
		x.Type = dtypes[t.Type]
		r.take(x, t, 0, t.Bytes)
	}
	return x
}

// Raw returns the bytes of a tensor of a shape and of any of some types as the file has them. An
// inventory has them as numbers of 4 bytes.
func (r *Reader) Raw(name string, types []gguf.Type, shape ...int) (raw []byte, of gguf.Type) {
	t, ok := r.find(name, types, shape...)
	if ok && r.Dry != nil {
		r.Dry.Floats(shape...)
	}
	if !ok || r.Dry != nil {
		return nil, 0
	}
	raw, err := t.read(0, t.Bytes, nil)
	r.Fail(err)
	r.Meter.Add(t.Bytes)
	return slices.Clone(raw), t.Type
}

// Equal tells whether two tensors of a shape are there and have the same type and bytes.
func (r *Reader) Equal(a, b string, shape ...int) bool {
	x, y := r.tensors[r.name(a)], r.tensors[r.name(b)]
	if x == nil || y == nil || x.Type != y.Type || !slices.Equal(x.Shape, shape) || !slices.Equal(y.Shape, shape) {
		return false
	}
	for at := int64(0); at < x.Bytes; at += piece {
		to := min(at+piece, x.Bytes)
		p, err := x.read(at, to, nil)
		if err != nil {
			return false // whoever loads it reports that
		}
		q, err := y.read(at, to, nil)
		if err != nil || !bytes.Equal(p, q) {
			return false
		}
		x.forget(p)
		y.forget(q)
	}
	return true
}

// piece is about how many bytes of a tensor are read at once, so that they never lie in
// memory twice.
const piece = 1 << 18

// take appends the numbers of a tensor between two bytes.
func (r *Reader) take(x *Numbers, t *tensor, from, to int64) {
	elements, size := t.Type.Block()
	n := int((to-from)/int64(size)) * elements
	if r.Dry != nil {
		r.note(x.Type, n)
		return
	}
	if r.err != nil {
		return
	}
	x.grow(n)
	r.Meter.Add(to - from)
	for step := int64(max(1, piece/size) * size); from < to; from += step {
		raw, err := t.read(from, min(from+step, to), r.room)
		if err == nil {
			err = x.add(raw, t.Type)
		}
		if err != nil {
			r.Fail(err)
			return
		}
		if t.data == nil {
			r.room = raw
		}
		t.forget(raw)
	}
}

// note notes the memory of n numbers that are kept.
func (r *Reader) note(kept kernel.DType, n int) {
	size := int64(4)
	if kept != kernel.Float32 {
		size = 2
	}
	r.Dry.Memory += size * int64(n)
}
