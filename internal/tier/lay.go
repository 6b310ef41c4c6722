package tier

import (
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/attn-go/attn/asm"
	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/ukernel"
)

// tables are the tables of a tier, each put together when it is first asked for. A program links the
// kernels of those that it asks for.
type tables struct {
	products    atomic.Pointer[[]ukernel.Products] // by width, as Tier.Widths
	tiles       atomic.Pointer[[]ukernel.TileKernels]
	joined      atomic.Pointer[[]ukernel.TileKernels] // wider than the widest, see WideTile
	gradients   atomic.Pointer[[]ukernel.Gradients]   // by width
	skinny      atomic.Pointer[ukernel.SkinnyKernels]
	convert     atomic.Pointer[ukernel.Converters]
	weights     atomic.Pointer[ukernel.WeightKernels]
	elementwise atomic.Pointer[ukernel.Elementwise]
	norms       atomic.Pointer[ukernel.Norms]
	activations atomic.Pointer[ukernel.Activations]
	rows        atomic.Pointer[ukernel.Rows]
}

// Skinny returns the kernels for few query rows.
func (t *Tier) Skinny() *ukernel.SkinnyKernels {
	if k := t.tables.skinny.Load(); k != nil {
		return k
	}
	return keep(&t.tables.skinny, lay(t, 0, fallback.Skinny(), asm.Skinny))
}

// Convert returns the conversions between element types.
func (t *Tier) Convert() *ukernel.Converters {
	if k := t.tables.convert.Load(); k != nil {
		return k
	}
	return keep(&t.tables.convert, lay(t, 0, fallback.Convert(), asm.Convert))
}

// Weights returns the kernels of linear layers.
func (t *Tier) Weights() *ukernel.WeightKernels {
	if k := t.tables.weights.Load(); k != nil {
		return k
	}
	return keep(&t.tables.weights, lay(t, 0, fallback.Weights(), asm.Weights))
}

// Elementwise returns the functions over slices.
func (t *Tier) Elementwise() *ukernel.Elementwise {
	if k := t.tables.elementwise.Load(); k != nil {
		return k
	}
	return keep(&t.tables.elementwise, lay(t, 0, fallback.Elementwise(), asm.Elementwise))
}

// Norms returns the norms of rows.
func (t *Tier) Norms() *ukernel.Norms {
	if k := t.tables.norms.Load(); k != nil {
		return k
	}
	return keep(&t.tables.norms, lay(t, 0, fallback.Norms(), asm.Norms))
}

// Activations returns the activations of feed-forward layers.
func (t *Tier) Activations() *ukernel.Activations {
	if k := t.tables.activations.Load(); k != nil {
		return k
	}
	return keep(&t.tables.activations, lay(t, 0, fallback.Activations(), asm.Activations))
}

// Rows returns the functions over rows.
func (t *Tier) Rows() *ukernel.Rows {
	if k := t.tables.rows.Load(); k != nil {
		return k
	}
	return keep(&t.tables.rows, lay(t, 0, fallback.Rows(), asm.Rows))
}

// keep stores a table, unless another goroutine was faster, and returns the one that is kept.
func keep[T any](to *atomic.Pointer[T], k *T) *T {
	to.CompareAndSwap(nil, k)
	return to.Load()
}

// lay puts a table together: the reference, and on it the layers of the tier's instruction sets, in
// their order. lanes is the width of a query tile, or 0 for tables without.
func lay[T any](t *Tier, lanes int, reference T, layers []ukernel.Layer[T]) *T {
	k := &reference
	for _, isa := range t.ISAs {
		for i := range layers {
			if l := &layers[i]; l.ISA == isa && fits(t, l, lanes) {
				override(reflect.ValueOf(k).Elem(), reflect.ValueOf(&l.Kernels).Elem())
			}
		}
	}
	if t.Amend != nil {
		t.Amend(k, lanes)
	}
	return k
}

// fits reports whether a layer is for query tiles of a width, for this CPU, and of the variant that
// the tuning chooses.
func fits[T any](t *Tier, l *ukernel.Layer[T], lanes int) bool {
	return (l.Lanes == 0 || lanes%l.Lanes == 0) &&
		(l.Variant == "" || slices.Contains(t.Tuning.variants(), l.Variant)) &&
		!slices.ContainsFunc(l.Needs, lacks)
}

// override replaces the kernels in to by those of from that are not nil.
func override(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Func:
		if !from.IsNil() {
			to.Set(from)
		}
	case reflect.Struct:
		for i := range from.NumField() {
			override(to.Field(i), from.Field(i))
		}
	case reflect.Array:
		for i := range from.Len() {
			override(to.Index(i), from.Index(i))
		}
	}
}
