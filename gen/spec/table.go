package spec

import "strings"

// A Table is a struct type of package ukernel that holds micro-kernels. Its fields are the
// functions of one kind, without their prefix and suffix.
type Table struct {
	Field, Type string // of the table in ukernel.Kernels
	Lanes       int    // of a table for query tiles
	Variant     string // of a table for a variant of a kernel: the fields that tell it apart
	prefix      string // of the functions
	suffix      string // of those of a variant
}

// The tables but those for query tiles.
var (
	NormTable       = Table{Field: "Norms", Type: "Norms"}
	LaneTable       = Table{Type: "LaneKernels"}
	SkinnyTable     = Table{Field: "Skinny", Type: "SkinnyKernels", prefix: "Skinny"}
	ConvertTable    = Table{Field: "Convert", Type: "Converters"}
	WeightTable     = Table{Field: "Weights", Type: "WeightKernels", prefix: "Weight"}
	FunctionTable   = Table{Field: "Functions", Type: "Functions"}
	ActivationTable = Table{Field: "Activations", Type: "Activations"}
)

// noTable is that of functions that are not micro-kernels.
var noTable = Table{}

// tileTable is the table of the products for query tiles of a width.
func tileTable(lanes int) Table { return Table{Type: "TileKernels", Lanes: lanes} }

// variantTable is the table of a variant of a kernel, an element of Variants.
func variantTable(field, variant string) Table {
	return Table{Field: field, Type: field + "Variant", Variant: variant}
}

// Field is the name of the function's field in its table.
func (f Function) Field() string {
	if f.Table.Lanes > 0 {
		return strings.TrimRight(f.Name, "1234") // the number of vectors
	}
	return strings.TrimSuffix(strings.TrimPrefix(f.Name, f.Table.prefix), f.Table.suffix)
}
