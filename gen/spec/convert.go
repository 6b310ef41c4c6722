package spec

// The conversions between float32 and other element types.
var (
	WidenF16 = Function{ConvertTable, "WidenF16", "(dst []float32, ldd int, src []uint16, lds, n, d int)",
		"converts n rows of d binary16."}
	WidenBF16 = Function{ConvertTable, "WidenBF16", "(dst []float32, ldd int, src []uint16, lds, n, d int)",
		"converts n rows of d bfloat16."}
	WidenInt8 = Function{ConvertTable, "WidenInt8", "(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int)",
		"converts n rows of d integers and scales them. In a row, group neighbours share a scale."}
	NarrowF16 = Function{ConvertTable, "NarrowF16", "(dst []uint16, ldd int, src []float32, lds, n, d int)",
		"rounds n rows of d numbers to binary16, every NaN to 0x7e00."}
	NarrowBF16 = Function{ConvertTable, "NarrowBF16", "(dst []uint16, ldd int, src []float32, lds, n, d int)",
		"rounds n rows of d numbers to bfloat16, every NaN to 0x7fc0."}
	QuantizeInt8 = Function{ConvertTable, "QuantizeInt8", "(dst []int8, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool",
		"makes integers and scales of n rows of d numbers. In a row, group neighbours share a scale. It stops at a number that is not finite and returns false."}
	Finite = Function{ConvertTable, "Finite", "(src []float32) bool",
		"tells whether all of src is finite."}
)

// A Converter emits the conversions.
type Converter interface {
	WidenF16()
	WidenBF16()
	WidenInt8()
	NarrowF16()
	NarrowBF16()
	QuantizeInt8()
	Finite()
}

func emitConversions(c Converter) {
	c.WidenF16()
	c.WidenBF16()
	c.WidenInt8()
	c.NarrowF16()
	c.NarrowBF16()
	c.QuantizeInt8()
	c.Finite()
}
