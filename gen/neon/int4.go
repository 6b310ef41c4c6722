package neon

// WidenInt4 emits nothing: the conversions of integers of 4 bits run in Go.
func (g *neon) WidenInt4() {}

// UnpackInt4 emits nothing, see WidenInt4.
func (g *neon) UnpackInt4() {}

// QuantizeInt4 emits nothing, see WidenInt4.
func (g *neon) QuantizeInt4() {}
