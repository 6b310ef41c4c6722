package ukernel

// A BlockFormat is a format of quantized weights. Package quantized has what is known of each.
type BlockFormat int

// The formats, which the GGUF file format calls Q8_0, Q4_0 and Q4_1.
const (
	Q8_0 BlockFormat = iota
	Q4_0
	Q4_1

	BlockFormats = iota // number of formats
)

func (f BlockFormat) String() string { return [...]string{"Q8_0", "Q4_0", "Q4_1"}[f] }
