package spec

import "strings"

// A Table is a struct type of package ukernel that holds micro-kernels.
type Table struct {
	Var    string // of package asm that has the overrides of the table
	Type   string // of package ukernel
	prefix string // of the functions' names
}

// The tables, in the order of package asm.
var (
	ProductTable     = Table{"Products", "Products", ""}
	LaneTable        = Table{"Lanes", "LaneKernels", ""}
	GradientTable    = Table{"Gradients", "Gradients", ""}
	SkinnyTable      = Table{"Skinny", "SkinnyKernels", "Skinny"}
	ConvertTable     = Table{"Convert", "Converters", ""}
	WeightTable      = Table{"Weights", "WeightKernels", "Weight"}
	ElementwiseTable = Table{"Elementwise", "Elementwise", ""}
	NormTable        = Table{"Norms", "Norms", ""}
	ActivationTable  = Table{"Activations", "Activations", ""}
	RowTable         = Table{"Rows", "Rows", "Row"}
	UnitTable        = Table{"Unit", "Unit", ""}
	MachineTable     = Table{"Machine", "Machine", ""}

	Tables = []Table{ProductTable, LaneTable, GradientTable, SkinnyTable, ConvertTable, WeightTable, ElementwiseTable, NormTable, ActivationTable, RowTable, UnitTable, MachineTable}
)

// A Function is a function in assembly, usually a micro-kernel. Package ukernel has its signature
// and says what it computes.
type Function struct {
	Table Table
	Name  string // without the suffix of the ISA
	Field string // of the table
	Note  string // what the function's comment says beside that

	// Of a function in an array: the array's field, constants of package ukernel for its size and
	// the index, and the type of the elements. That is a struct with the field, or, if Field is
	// empty, the function's own type.
	Array, Size, Index, Elem string

	Lanes   int      // see ukernel.Override
	Variant string   // see ukernel.Override
	Needs   []string // the CPU features that it uses, see ukernel.Override; the generator of the ISA finds them
}

// kernel is the function of a field of a table.
func kernel(t Table, field string) Function {
	return Function{Table: t, Name: t.prefix + field, Field: field}
}

// lanes returns f for query tiles that are a multiple of a vector wide.
func (f Function) lanes(n int) Function {
	f.Lanes = n
	return f
}

// Type is the type of package ukernel that has the field.
func (f *Function) Type() string {
	if f.Elem != "" {
		return f.Elem
	}
	return f.Table.Type
}

// SameKernel tells whether f and g are the same kernel, of other ISAs, CPU features or widths.
func (f *Function) SameKernel(g Function) bool {
	return f.Table == g.Table && f.Field == g.Field && f.Array == g.Array && f.Index == g.Index
}

// contract is the name of the function's contract in package ukernel: of a field, or of a type.
func (f *Function) contract() string {
	if f.Field == "" {
		return f.Elem
	}
	return f.Type() + "." + f.Field
}

// Symbol is the name of the function of an ISA. It is not exported.
func (f *Function) Symbol(isa string) string {
	n := 1 // upper-case letters at the start, without the next word's
	for n < len(f.Name) && isUpper(f.Name[n]) && (n+1 == len(f.Name) || isUpper(f.Name[n+1])) {
		n++
	}
	return strings.ToLower(f.Name[:n]) + f.Name[n:] + isa
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// Doc is the comment of the function of an ISA.
func (f *Function) Doc(isa string) string {
	return strings.TrimSpace(f.Symbol(isa) + " is " + f.contract() + ", see package ukernel. " + f.Note)
}
