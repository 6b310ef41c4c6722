package spec

// An Element is a type of the numbers of an operand: B of WeightGemm, K of SkinnyQK, V of
// SkinnyPV.
type Element int

const (
	Float32 Element = iota
	F16             // binary16
	BF16            // bfloat16
	Int8            // integers with scales
)

// Shift is log2 of the bytes of a number.
func (b Element) Shift() int { return [...]int{2, 1, 1, 0}[b] }

// suffix names the type in a function's name.
func (b Element) suffix() string { return [...]string{"", "F16", "BF16", "Int8"}[b] }

// goType is the type of a number in Go.
func (b Element) goType() string { return [...]string{"float32", "uint16", "uint16", "int8"}[b] }

// of names the type in a doc comment.
func (b Element) of() string {
	return [...]string{"", " of binary16", " of bfloat16", " of scaled integers"}[b]
}

// scales are the parameters for the scales of a matrix.
func (b Element) scales() string {
	if b == Int8 {
		return "scales []float32, lsc, group int, "
	}
	return ""
}
