package ukernel

// A BlockFormat is a format of packed quantized weights. Package quantized has what is known of each, and
// which formats of files are packed into it.
type BlockFormat int

// The formats: three that GGUF files have under these names, three of 4, 5 and 6 bits whose
// scales are products of a binary16 and an integer for every 16 weights, and K5 with powers
// of two as bfloat16 in place of the binary16.
const (
	Q8_0 BlockFormat = iota
	Q4_0
	Q4_1
	K4
	K5
	K6
	K5B

	BlockFormats = iota // number of formats
)

func (f BlockFormat) String() string {
	return [...]string{"Q8_0", "Q4_0", "Q4_1", "K4", "K5", "K6", "K5B"}[f]
}
