package tier

import (
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/attn-go/attn/asm"
	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/ukernel"
)

// tables are the tables of a tier, each put together when it is first asked for. A program links
// the kernels of those that it asks for.
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
	unit        atomic.Pointer[ukernel.Unit]
}

// Skinny returns the kernels for few query rows.
func (t *Tier) Skinny() *ukernel.SkinnyKernels {
	return table(t, &t.tables.skinny, fallback.Skinny, asm.Skinny)
}

// Convert returns the conversions between element types.
func (t *Tier) Convert() *ukernel.Converters {
	return table(t, &t.tables.convert, fallback.Convert, asm.Convert)
}

// Weights returns the kernels of linear layers.
func (t *Tier) Weights() *ukernel.WeightKernels {
	return table(t, &t.tables.weights, fallback.Weights, asm.Weights)
}

// Elementwise returns the functions over slices.
func (t *Tier) Elementwise() *ukernel.Elementwise {
	return table(t, &t.tables.elementwise, fallback.Elementwise, asm.Elementwise)
}

// Norms returns the norms of rows.
func (t *Tier) Norms() *ukernel.Norms {
	return table(t, &t.tables.norms, fallback.Norms, asm.Norms)
}

// Activations returns the activations of feed-forward layers.
func (t *Tier) Activations() *ukernel.Activations {
	return table(t, &t.tables.activations, fallback.Activations, asm.Activations)
}

// Rows returns the functions over rows.
func (t *Tier) Rows() *ukernel.Rows {
	return table(t, &t.tables.rows, fallback.Rows, asm.Rows)
}

// Unit returns the products of a unit for tiles, which most tiers lack.
func (t *Tier) Unit() *ukernel.Unit {
	return table(t, &t.tables.unit, fallback.Unit, asm.Unit)
}

// table returns a table without lanes, which it puts together the first time.
func table[T any](t *Tier, kept *atomic.Pointer[T], reference func() T, overrides []ukernel.Override[T]) *T {
	if k := kept.Load(); k != nil {
		return k
	}
	return keep(kept, lay(t, 0, reference(), overrides))
}

// keep stores a table, unless another goroutine was faster, and returns the one that is kept.
func keep[T any](to *atomic.Pointer[T], k *T) *T {
	to.CompareAndSwap(nil, k)
	return to.Load()
}

// lay puts a table together: the reference, and on it the overrides of the tier's instruction sets,
// in their order. lanes is the width of a query tile, or 0 for tables without.
func lay[T any](t *Tier, lanes int, reference T, overrides []ukernel.Override[T]) *T {
	k := &reference
	for _, isa := range t.ISAs {
		for i := range overrides {
			if l := &overrides[i]; l.ISA == isa && fits(t, l, lanes) {
				override(reflect.ValueOf(k).Elem(), reflect.ValueOf(&l.Kernels).Elem())
			}
		}
	}
	if t.Amend != nil {
		t.Amend(k, lanes)
	}
	return k
}

// fits reports whether an override is for query tiles of a width, for this CPU, and of the variant
// that the tuning chooses.
func fits[T any](t *Tier, l *ukernel.Override[T], lanes int) bool {
	return (l.Lanes == 0 || lanes%l.Lanes == 0) &&
		(l.Variant == "" || slices.Contains(t.Tuning.variants(), l.Variant)) &&
		!slices.ContainsFunc(l.Needs, unusable)
}

// override replaces kernels in to by the kernels of from that are not nil.
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
