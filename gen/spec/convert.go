package spec

import "fmt"

// A Converter emits the conversions.
type Converter interface {
	Widen(from Element)
	WidenInt8()
	WidenInt4()
	UnpackInt4()
	Narrow(to Element)
	QuantizeInt8()
	QuantizeInt4()
	Flush()
	Gather()
	Finite()
}

// Widen is the conversion of rows of a type to float32.
func Widen(from Element) Function { return ofElement(from, "Widen", "WidenRows") }

// Narrow is the conversion of rows of float32 to a type.
func Narrow(to Element) Function { return ofElement(to, "Narrow", "NarrowRows") }

// ofElement is the function of a type in an array of them.
func ofElement(e Element, array, elem string) Function {
	f := kernel(ConvertTable, "")
	f.Name, f.Note = array+e.Suffix(), fmt.Sprintf("The type is %v.", e)
	f.Array, f.Size, f.Index, f.Elem = array, "Elements", e.String(), elem
	return f
}

func emitConversions(c Converter) {
	for _, e := range []Element{F16, BF16, E4M3, E5M2} {
		c.Widen(e)
	}
	c.WidenInt8()
	c.WidenInt4()
	c.UnpackInt4()
	for _, e := range []Element{F16, BF16, E4M3, E5M2} {
		c.Narrow(e)
	}
	c.QuantizeInt8()
	c.QuantizeInt4()
	c.Flush()
	c.Gather()
	c.Finite()
}
