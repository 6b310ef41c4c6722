package a64

import "fmt"

// Go's assembler lacks most NEON arithmetic. These are the encodings of the instructions
// that the kernels need, without the registers. The tests decode each of them and compare
// it with its text.

// A form says how the operands of an instruction are encoded and written.
type form int

const (
	same3   form = iota // name vd.4s, vn.4s, vm.4s
	bytes3              // name vd.16b, vn.16b, vm.16b
	zero2               // name vd.4s, vn.4s, #0.0
	element             // name vd.4s, vn.4s, vm.s[lane]
	dot                 // name vd.4s, vn.16b, vm.4b[lane]
	loadQ               // name qd, [xn, xm]
	pair                // the name is the whole text, with places for d and n
	triple              // the same with places for d, n and m
)

type encoding struct {
	name string
	base uint32
	form form
}

var (
	fmlaElement = encoding{"fmla", 0x4f801000, element}
	fmulElement = encoding{"fmul", 0x4f809000, element}
	sdotElement = encoding{"sdot", 0x4f80e000, dot}
	fadd        = encoding{"fadd", 0x4e20d400, same3}
	fsub        = encoding{"fsub", 0x4ea0d400, same3}
	fmul        = encoding{"fmul", 0x6e20dc00, same3}
	fdiv        = encoding{"fdiv", 0x6e20fc00, same3}
	fsqrt       = encoding{"fsqrt v%d.4s, v%d.4s", 0x6ea1f800, pair}
	fmin        = encoding{"fmin", 0x4ea0f400, same3}
	fmax        = encoding{"fmax", 0x4e20f400, same3}
	mla         = encoding{"mla", 0x4ea09400, same3}
	mul         = encoding{"mul", 0x4ea09c00, same3}
	ushl        = encoding{"ushl v%d.16b, v%d.16b, v%d.16b", 0x6e204400, triple}
	ushlWords   = encoding{"ushl", 0x6ea04400, same3}
	fabs        = encoding{"fabs v%d.4s, v%d.4s", 0x4ea0f800, pair}
	fcmgt       = encoding{"fcmgt", 0x6ea0e400, same3}
	fcmeq       = encoding{"fcmeq", 0x4e20e400, same3}
	fcmeqZero   = encoding{"fcmeq", 0x4ea0d800, zero2}
	facge       = encoding{"facge", 0x6e20ec00, same3}
	cmgt        = encoding{"cmgt", 0x4ea03400, same3}
	cmge        = encoding{"cmge", 0x4ea03c00, same3}
	cmhs        = encoding{"cmhs", 0x6ea03c00, same3}
	umull       = encoding{"umull v%d.2d, v%d.2s, v%d.2s", 0x2ea0c000, triple}
	umull2      = encoding{"umull2 v%d.2d, v%d.4s, v%d.4s", 0x6ea0c000, triple}
	bic         = encoding{"bic", 0x4e601c00, bytes3}
	ldrOffset   = encoding{"ldr", 0x3ce06800, loadQ}
	fcvtl       = encoding{"fcvtl v%d.4s, v%d.4h", 0x0e217800, pair}
	fcvtl2      = encoding{"fcvtl2 v%d.4s, v%d.8h", 0x4e217800, pair}
	fcvtn       = encoding{"fcvtn v%d.4h, v%d.4s", 0x0e216800, pair}
	fcvtn2      = encoding{"fcvtn2 v%d.8h, v%d.4s", 0x4e216800, pair}
	faddWide    = encoding{"fadd v%d.2d, v%d.2d, v%d.2d", 0x4e60d400, triple}
	fsubWide    = encoding{"fsub v%d.2d, v%d.2d, v%d.2d", 0x4ee0d400, triple}
	fmulWide    = encoding{"fmul v%d.2d, v%d.2d, v%d.2d", 0x6e60dc00, triple}
	fcmeqWide   = encoding{"fcmeq v%d.2d, v%d.2d, #0.0", 0x4ee0d800, pair}
	fcvtlWide   = encoding{"fcvtl v%d.2d, v%d.2s", 0x0e617800, pair}
	fcvtnWide   = encoding{"fcvtn v%d.2s, v%d.2d", 0x0e616800, pair}
	shll        = encoding{"shll v%d.4s, v%d.4h, #16", 0x2e613800, pair}
	shll2       = encoding{"shll2 v%d.4s, v%d.8h, #16", 0x6e613800, pair}
	sxtlBytes   = encoding{"sxtl v%d.8h, v%d.8b", 0x0f08a400, pair}
	sxtl        = encoding{"sxtl v%d.4s, v%d.4h", 0x0f10a400, pair}
	sxtl2       = encoding{"sxtl2 v%d.4s, v%d.8h", 0x4f10a400, pair}
	abs         = encoding{"abs v%d.4s, v%d.4s", 0x4ea0b800, pair}
	scvtf       = encoding{"scvtf v%d.4s, v%d.4s", 0x4e21d800, pair}
	fcvtns      = encoding{"fcvtns v%d.4s, v%d.4s", 0x4e21a800, pair}
	umaxv       = encoding{"umaxv s%d, v%d.4s", 0x6eb0a800, pair}
	fmaxv       = encoding{"fmaxv s%d, v%d.4s", 0x6e30f800, pair}
	fminv       = encoding{"fminv s%d, v%d.4s", 0x6eb0f800, pair}
	addv        = encoding{"addv s%d, v%d.4s", 0x4eb1b800, pair}
	smull       = encoding{"smull v%d.8h, v%d.8b, v%d.8b", 0x0e20c000, triple}
	smull2      = encoding{"smull2 v%d.8h, v%d.16b, v%d.16b", 0x4e20c000, triple}
	smlal       = encoding{"smlal v%d.8h, v%d.8b, v%d.8b", 0x0e208000, triple}
	smlal2      = encoding{"smlal2 v%d.8h, v%d.16b, v%d.16b", 0x4e208000, triple}
	sadalp      = encoding{"sadalp v%d.4s, v%d.8h", 0x4e606800, pair}
)

// table lists them for the tests.
var table = []encoding{
	fmlaElement, fadd, fsub, fmul, fdiv, fsqrt, fcmgt, fcmeq, fcmeqZero, facge, cmgt, cmge, cmhs, umull, umull2, bic, ldrOffset,
	fcvtl, fcvtl2, fcvtn, fcvtn2, shll, shll2, sxtlBytes, sxtl, sxtl2, abs, scvtf, fmin, fmax, mla, fabs,
	fmulElement, sdotElement, fcvtns, umaxv, addv, smull, smull2, smlal, smlal2, sadalp,
	mul, ushl, ushlWords, fmaxv, fminv, faddWide, fsubWide, fmulWide, fcmeqWide, fcvtlWide, fcvtnWide,
}

// DotProduct is the CPU feature that SDOT needs. All other instructions are part of ARMv8.0.
const DotProduct = "ASIMDDP"

// needs is the CPU feature that an instruction needs, "" for none.
func (e encoding) needs() string {
	if e.form == dot {
		return DotProduct
	}
	return ""
}

// hasLanes reports that the last operand is a lane.
func (e encoding) hasLanes() bool { return e.form == element || e.form == dot }

// encode returns the instruction's word and its text. m and lane are ignored if the form has
// none.
func (e encoding) encode(d, n, m, lane int) (word uint32, text string) {
	word = e.base | uint32(n)<<5 | uint32(d)
	switch e.form {
	case zero2:
		return word, fmt.Sprintf("%s v%d.4s, v%d.4s, #0.0", e.name, d, n)
	case pair:
		return word, fmt.Sprintf(e.name, d, n)
	}
	word |= uint32(m) << 16
	switch e.form {
	case triple:
		return word, fmt.Sprintf(e.name, d, n, m)
	case bytes3:
		return word, fmt.Sprintf("%s v%d.16b, v%d.16b, v%d.16b", e.name, d, n, m)
	case element, dot: // the lane's low bit is L, bit 21, its high bit H, bit 11
		word |= uint32(lane&1)<<21 | uint32(lane>>1)<<11
		text = "%s v%d.4s, v%d.4s, v%d.s[%d]"
		if e.form == dot {
			text = "%s v%d.4s, v%d.16b, v%d.4b[%d]"
		}
		return word, fmt.Sprintf(text, e.name, d, n, m, lane)
	case loadQ:
		return word, fmt.Sprintf("%s q%d, [x%d, x%d]", e.name, d, n, m)
	}
	return word, fmt.Sprintf("%s v%d.4s, v%d.4s, v%d.4s", e.name, d, n, m)
}

// word emits an encoded instruction.
func (f *Func) word(e encoding, d, n, m, lane int) {
	word, text := e.encode(d, n, m, lane)
	if e.needs() != "" {
		f.needs[e.needs()] = true
	}
	f.lines = append(f.lines, fmt.Sprintf("\tWORD $0x%08x // %s", word, text))
}

func (f *Func) vec3(e encoding, d, n, m Vec) {
	f.check(e.name, d, n, m)
	f.word(e, d.n, n.n, m.n, 0)
}

func (f *Func) vec2(e encoding, d, n Vec) {
	f.check(e.name, d, n)
	f.word(e, d.n, n.n, 0, 0)
}

// The encoded instructions, in the manufacturer's order: the destination first.

func (f *Func) byLane(e encoding, d, n Vec, m Lane) {
	f.check(e.name, d, n, m)
	if m.lane < 0 || m.lane > 3 {
		f.fail("%s: lane %d", e.name, m.lane)
	}
	f.word(e, d.n, n.n, m.v.n, m.lane)
}

// Products with a single lane m. SDOTLane adds to every lane of d the products of the four int8 in
// the same lane of n and the four of m.
func (f *Func) FMLALane(d, n Vec, m Lane) { f.byLane(fmlaElement, d, n, m) } // d += n · m
func (f *Func) FMULLane(d, n Vec, m Lane) { f.byLane(fmulElement, d, n, m) } // d = n · m
func (f *Func) SDOTLane(d, n Vec, m Lane) { f.byLane(sdotElement, d, n, m) }

func (f *Func) FADD(d, n, m Vec)      { f.vec3(fadd, d, n, m) }      // d = n + m
func (f *Func) FSUB(d, n, m Vec)      { f.vec3(fsub, d, n, m) }      // d = n - m
func (f *Func) FMUL(d, n, m Vec)      { f.vec3(fmul, d, n, m) }      // d = n · m
func (f *Func) FDIV(d, n, m Vec)      { f.vec3(fdiv, d, n, m) }      // d = n / m
func (f *Func) FSQRT(d, n Vec)        { f.vec2(fsqrt, d, n) }        // d = the square root of n
func (f *Func) FMIN(d, n, m Vec)      { f.vec3(fmin, d, n, m) }      // d = the smaller, or NaN if one is
func (f *Func) FMAX(d, n, m Vec)      { f.vec3(fmax, d, n, m) }      // d = the larger, or NaN if one is
func (f *Func) FABS(d, n Vec)         { f.vec2(fabs, d, n) }         // d = |n|
func (f *Func) MLA(d, n, m Vec)       { f.vec3(mla, d, n, m) }       // d += n · m, integers
func (f *Func) MUL(d, n, m Vec)       { f.vec3(mul, d, n, m) }       // d = n · m, integers
func (f *Func) USHL(d, n, m Vec)      { f.vec3(ushl, d, n, m) }      // d = n shifted left by m, bytes; right where m is negative
func (f *Func) USHLWords(d, n, m Vec) { f.vec3(ushlWords, d, n, m) } // the same of 32-bit lanes
func (f *Func) FCMGT(d, n, m Vec)     { f.vec3(fcmgt, d, n, m) }     // d = n > m: all bits of a lane, or none
func (f *Func) FCMEQ(d, n, m Vec)     { f.vec3(fcmeq, d, n, m) }     // d = n == m
func (f *Func) FACGE(d, n, m Vec)     { f.vec3(facge, d, n, m) }     // d = |n| ≥ |m|
func (f *Func) FCMEQZero(d, n Vec) { // d = n == 0
	f.vec2(fcmeqZero, d, n)
}
func (f *Func) SCVTF(d, n Vec)   { f.vec2(scvtf, d, n) }   // d = float32(n), n int32
func (f *Func) FCVTNS(d, n Vec)  { f.vec2(fcvtns, d, n) }  // d = int32(n), rounded to even
func (f *Func) UMAXV(d, n Vec)   { f.vec2(umaxv, d, n) }   // d = the largest lane of n, uint32, in one lane
func (f *Func) FMAXV(d, n Vec)   { f.vec2(fmaxv, d, n) }   // d = the largest lane of n, or NaN if one is, in one lane
func (f *Func) FMINV(d, n Vec)   { f.vec2(fminv, d, n) }   // d = the smallest lane of n, or NaN if one is, in one lane
func (f *Func) ADDV(d, n Vec)    { f.vec2(addv, d, n) }    // d = the sum of the lanes of n, int32, in one lane
func (f *Func) CMGT(d, n, m Vec) { f.vec3(cmgt, d, n, m) } // d = n > m, int32
func (f *Func) CMGE(d, n, m Vec) { f.vec3(cmge, d, n, m) } // d = n ≥ m, int32
func (f *Func) CMHS(d, n, m Vec) { f.vec3(cmhs, d, n, m) } // d = n ≥ m, uint32
func (f *Func) ABS(d, n Vec)     { f.vec2(abs, d, n) }     // d = |n|, int32
func (f *Func) BIC(d, n, m Vec)  { f.vec3(bic, d, n, m) }  // d = n AND NOT m

// Unsigned products of 32-bit lanes, with 64 bits: of the lower halves of n and m, or of the
// upper halves.
func (f *Func) UMULL(d, n, m Vec)  { f.vec3(umull, d, n, m) }
func (f *Func) UMULL2(d, n, m Vec) { f.vec3(umull2, d, n, m) }

// Products of the int8 in the lower halves of n and m, or in the upper halves, with 16 bits: d is
// the products, or they are added to it.
func (f *Func) SMULL(d, n, m Vec)  { f.vec3(smull, d, n, m) }
func (f *Func) SMULL2(d, n, m Vec) { f.vec3(smull2, d, n, m) }
func (f *Func) SMLAL(d, n, m Vec)  { f.vec3(smlal, d, n, m) }
func (f *Func) SMLAL2(d, n, m Vec) { f.vec3(smlal2, d, n, m) }

// SADALP adds pairs of neighbouring int16 of n to the int32 of d.
func (f *Func) SADALP(d, n Vec) { f.vec2(sadalp, d, n) }

// Half of a vector to a whole one, and back. The names with a 2 read the upper half of n, or
// write the upper half of d and leave the lower one unchanged.
func (f *Func) FCVTL(d, n Vec)     { f.vec2(fcvtl, d, n) } // binary16 to float32
func (f *Func) FCVTL2(d, n Vec)    { f.vec2(fcvtl2, d, n) }
func (f *Func) FCVTN(d, n Vec)     { f.vec2(fcvtn, d, n) } // float32 to binary16, rounded to even
func (f *Func) FCVTN2(d, n Vec)    { f.vec2(fcvtn2, d, n) }
func (f *Func) SHLL(d, n Vec)      { f.vec2(shll, d, n) } // 16-bit lanes to the upper halves of 32-bit ones
func (f *Func) SHLL2(d, n Vec)     { f.vec2(shll2, d, n) }
func (f *Func) SXTLBytes(d, n Vec) { f.vec2(sxtlBytes, d, n) } // int8 to int16
func (f *Func) SXTL(d, n Vec)      { f.vec2(sxtl, d, n) }      // int16 to int32
func (f *Func) SXTL2(d, n Vec)     { f.vec2(sxtl2, d, n) }

// Operations of float64: two lanes. FCVTLWide and FCVTNWide convert from and to two float32, in the
// lower half of a vector.
func (f *Func) FADDWide(d, n, m Vec)   { f.vec3(faddWide, d, n, m) }
func (f *Func) FSUBWide(d, n, m Vec)   { f.vec3(fsubWide, d, n, m) }
func (f *Func) FMULWide(d, n, m Vec)   { f.vec3(fmulWide, d, n, m) }
func (f *Func) FCMEQZeroWide(d, n Vec) { f.vec2(fcmeqWide, d, n) }
func (f *Func) FCVTLWide(d, n Vec)     { f.vec2(fcvtlWide, d, n) }
func (f *Func) FCVTNWide(d, n Vec)     { f.vec2(fcvtnWide, d, n) }

// LDRQ is d = the 16 bytes at n + m.
func (f *Func) LDRQ(d Vec, n, m GP) {
	f.check("ldr", d, n, m)
	f.word(ldrOffset, d.n, n.n, m.n, 0)
}
