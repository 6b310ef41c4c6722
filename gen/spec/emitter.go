package spec

// An Emitter emits the functions of one ISA into a file.
type Emitter interface {
	Gemm(s TileShape, e Epilogue)
	EvenOdd(s TileShape)
	WeightGemm(s TileShape, b Element)
	WeightPack()
	WeightPackHalves()
	BlockEmitter
	Additive()
	SkinnySoftmax()
	Bias()
	MaskBool()
	Dropout()
	Pack()
	Unpack()
	HeadScores()
	HeadValues()
	SkinnyEmitter
	Converter
	Normer
	Peak()
	Read()
}

// A SkinnyEmitter emits the functions for few query rows.
type SkinnyEmitter interface {
	SkinnyQK(k Element)
	SkinnyPV(v Element)
	SkinnyMerge()
	SkinnyUnpack()
}

// A SkinnyRowsEmitter emits the products of few rows with rows that lie anywhere, too, which an ISA
// may lack: they are copied then.
type SkinnyRowsEmitter interface {
	SkinnyQKRows(k Element)
	SkinnyPVRows(v Element)

	// RowElements are types that only these products take. Where an ISA lacks them, they are
	// widened to 16 or 8 bits before a product.
	RowElements() []Element
}

// A BF16SkinnyEmitter emits products in bfloat16, too, which an ISA may lack: few rows take the
// kernels for many then.
type BF16SkinnyEmitter interface {
	SkinnyEmitter
	QKEvenOdd()
	PVEvenOdd()
}

// A HalvesEmitter emits conversions of types of 8 bits to 16, which an ISA may lack: they are
// widened to float32 then.
type HalvesEmitter interface{ Halves() }

// A CodeEmitter emits the kernels of quantized attention, which an ISA may lack: Go rounds then,
// and the products are those for float32.
type CodeEmitter interface{ Codes() }

// A PairEmitter is one whose WeightGemm takes BF16Pairs, too. Others widen them before a product.
type PairEmitter interface{ TakesPairs() }

// EmitAll emits the functions that every ISA has, in the order of the file. weights is
// the register tile for packed panels of weights.
func EmitAll(e Emitter, tiles []TileShape, weights TileShape) {
	for _, s := range tiles {
		e.Gemm(s, Store)
		e.Gemm(s, StoreMax)
		e.Gemm(s, StoreMerge)
	}
	for _, b := range []Element{Float32, F16, BF16} {
		e.WeightGemm(weights, b)
	}
	for _, s := range tiles {
		e.EvenOdd(s)
	}
	if _, ok := e.(PairEmitter); ok {
		e.WeightGemm(weights, BF16Pairs)
	}
	e.WeightPack()
	e.WeightPackHalves()
	emitBlocks(e)
	e.Additive()
	e.Bias()
	e.MaskBool()
	e.Dropout()
	e.Pack()
	e.Unpack()
	e.HeadScores()
	e.HeadValues()
	types := []Element{Float32, F16, BF16, Int8}
	for _, b := range types {
		e.SkinnyQK(b)
		e.SkinnyPV(b)
	}
	if x, ok := e.(SkinnyRowsEmitter); ok {
		for _, b := range append(types, x.RowElements()...) {
			x.SkinnyQKRows(b)
			x.SkinnyPVRows(b)
		}
	}
	if x, ok := e.(BF16SkinnyEmitter); ok {
		x.QKEvenOdd()
		x.PVEvenOdd()
	}
	if x, ok := e.(HalvesEmitter); ok {
		x.Halves()
	}
	e.SkinnySoftmax()
	e.SkinnyMerge()
	e.SkinnyUnpack()
	if c, ok := e.(CodeEmitter); ok {
		c.Codes()
	}
	emitConversions(e)
	emitNorms(e)
	e.Peak()
	e.Read()
	if t, ok := e.(TileEmitter); ok {
		t.TileProbes()
	}
}

// An Output is the generated code of one ISA.
type Output struct {
	ISA        string // suffix of the functions; "" for functions of an architecture
	Asm, Stubs []byte // the assembly and the Go file that declares its functions
	Functions  []Function
}
