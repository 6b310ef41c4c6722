package tier

import (
	"reflect"
	"slices"
	"strings"

	"github.com/attn-go/attn/asm"
	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/ukernel"
)

// A Kernel says where a micro-kernel of a tier comes from.
type Kernel struct {
	Name    string   // of the table and the field: "Skinny.QK"
	Lanes   int      // of the query tile, 0 if it does not matter
	ISA     string   // whose assembly it is, "" for Go
	Needs   []string // the CPU features that it uses
	Variant string   // which variant it is, see ukernel.Override
	None    bool     // the tier has no such kernel and does without

	// Lower is the tier whose kernel runs for grouped weights and up to LowerRows rows of float32,
	// or "".
	Lower string
}

// List lists the kernels of the tier, in the order of the tables.
func (t *Tier) List() (kernels []Kernel) {
	for _, w := range t.Widths {
		kernels = append(kernels, list(t, "Products", w, fallback.Products(w), ofWidth(w))...)
		kernels = append(kernels, list(t, "Lanes", w, fallback.Lanes(), asm.Lanes)...)
		kernels = append(kernels, list(t, "Gradients", w, fallback.Gradients(), asm.Gradients)...)
	}
	kernels = append(kernels, list(t, "Skinny", 0, fallback.Skinny(), asm.Skinny)...)
	kernels = append(kernels, list(t, "Convert", 0, fallback.Convert(), asm.Convert)...)
	kernels = append(kernels, list(t, "Weights", 0, fallback.Weights(), asm.Weights)...)
	kernels = append(kernels, list(t, "Elementwise", 0, fallback.Elementwise(), asm.Elementwise)...)
	kernels = append(kernels, list(t, "Norms", 0, fallback.Norms(), asm.Norms)...)
	kernels = append(kernels, list(t, "Activations", 0, fallback.Activations(), asm.Activations)...)
	kernels = append(kernels, list(t, "Rows", 0, fallback.Rows(), asm.Rows)...)
	kernels = append(kernels, list(t, "Unit", 0, fallback.Unit(), asm.Unit)...)
	if lower := t.Lower(); lower != nil && t.LowerRows > 0 {
		for i := range kernels {
			if k := &kernels[i]; k.ISA == t.ISAs[len(t.ISAs)-1] && slices.Contains(ofGrouped, k.Name) {
				k.Lower = lower.Name
			}
		}
	}
	return kernels
}

// ofGrouped are the kernels that products with grouped weights and rows of float32 take.
var ofGrouped = func() []string {
	names := []string{"Weights.Gemm", "Weights.GemmUnpacked", "Weights.AddBias", "Products.Gemm"}
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		if f.Unpacks() {
			names = append(names, "Weights.Blocks."+f.String()+".Widen", "Weights.Blocks."+f.String()+".Unpack")
		}
	}
	return names
}()

// list lists the kernels of one table.
func list[T any](t *Tier, table string, lanes int, reference T, overrides []ukernel.Override[T]) (kernels []Kernel) {
	eachKernel(table, reflect.ValueOf(reference), func(name string, path []int, k reflect.Value) {
		found := Kernel{Name: name, Lanes: lanes, None: k.IsNil()}
		for _, isa := range t.ISAs {
			for i := range overrides {
				l := &overrides[i]
				if l.ISA == isa && fits(t, l, lanes) && !at(reflect.ValueOf(l.Kernels), path).IsNil() {
					found = Kernel{Name: name, Lanes: lanes, ISA: l.ISA, Needs: l.Needs, Variant: l.Variant}
				}
			}
		}
		kernels = append(kernels, found)
	})
	return kernels
}

// eachKernel calls f for each kernel of a table, with its name and the way to it.
func eachKernel(name string, table reflect.Value, f func(name string, path []int, k reflect.Value)) {
	var walk func(name string, path []int, v reflect.Value)
	walk = func(name string, path []int, v reflect.Value) {
		way := func(i int) []int { return append(path[:len(path):len(path)], i) }
		switch v.Kind() {
		case reflect.Func:
			f(name, path, v)
		case reflect.Struct:
			for i := range v.NumField() {
				if formatLacks(name, v.Type().Field(i).Name) {
					continue
				}
				walk(name+"."+v.Type().Field(i).Name, way(i), v.Field(i))
			}
		case reflect.Array:
			for i := range v.Len() {
				if index := indexName(v.Type().Elem(), i); index != "" {
					walk(name+"."+index, way(i), v.Index(i))
				}
			}
		}
	}
	walk(name, nil, table)
}

// formatLacks reports whether name is a format of quantized weights without a kernel in a field:
// formats that are unpacked have no Gemm, and the others no Unpack.
func formatLacks(name, field string) bool {
	_, format, ok := strings.Cut(name, ".Blocks.")
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		if ok && format == f.String() {
			return field == "Gemm" && f.Unpacks() || field == "Unpack" && !f.Unpacks()
		}
	}
	return false
}

// indexName names an element of an array of kernels: by the type that is converted, "" if the
// contract has no kernel for it, or by the format of quantized weights.
func indexName(kernel reflect.Type, i int) string {
	if kernel.Kind() != reflect.Func {
		return ukernel.PackedFormat(i).String()
	}
	if e := ukernel.Element(i); e != ukernel.Float32 && !e.IsScaled() {
		return e.String()
	}
	return ""
}

// at follows a way of eachKernel.
func at(v reflect.Value, path []int) reflect.Value {
	for _, i := range path {
		if v.Kind() == reflect.Array {
			v = v.Index(i)
		} else {
			v = v.Field(i)
		}
	}
	return v
}
