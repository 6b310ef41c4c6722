package spec

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
