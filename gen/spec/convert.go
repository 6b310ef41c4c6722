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
)

// A Converter emits the conversions.
type Converter interface {
	WidenF16()
	WidenBF16()
	WidenInt8()
	NarrowF16()
	NarrowBF16()
}

func emitConversions(c Converter) {
	c.WidenF16()
	c.WidenBF16()
	c.WidenInt8()
	c.NarrowF16()
	c.NarrowBF16()
}
