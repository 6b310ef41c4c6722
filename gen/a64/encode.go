package a64

import "fmt"

// Go's assembler lacks most NEON arithmetic. These are the encodings of what
// the kernels need of it, without their registers; the tests decode every one
// and compare it with the text beside it.

// A form is the way an instruction's operands are encoded and written.
type form int

const (
	same3   form = iota // name vd.4s, vn.4s, vm.4s
	bytes3              // name vd.16b, vn.16b, vm.16b
	zero2               // name vd.4s, vn.4s, #0.0
	element             // name vd.4s, vn.4s, vm.s[lane]
	loadQ               // name qd, [xn, xm]
)

type encoding struct {
	name string
	base uint32
	form form
}

var (
	fmlaElement = encoding{"fmla", 0x4f801000, element}
	fadd        = encoding{"fadd", 0x4e20d400, same3}
	fsub        = encoding{"fsub", 0x4ea0d400, same3}
	fmul        = encoding{"fmul", 0x6e20dc00, same3}
	fdiv        = encoding{"fdiv", 0x6e20fc00, same3}
	fcmgt       = encoding{"fcmgt", 0x6ea0e400, same3}
	fcmeq       = encoding{"fcmeq", 0x4e20e400, same3}
	fcmeqZero   = encoding{"fcmeq", 0x4ea0d800, zero2}
	cmgt        = encoding{"cmgt", 0x4ea03400, same3}
	cmge        = encoding{"cmge", 0x4ea03c00, same3}
	bic         = encoding{"bic", 0x4e601c00, bytes3}
	ldrOffset   = encoding{"ldr", 0x3ce06800, loadQ}
)

// table lists them for the tests.
var table = []encoding{
	fmlaElement, fadd, fsub, fmul, fdiv, fcmgt, fcmeq, fcmeqZero, cmgt, cmge, bic, ldrOffset,
}

// encode returns the instruction's word and its text. m and lane are ignored
// where the form has none.
func (e encoding) encode(d, n, m, lane int) (word uint32, text string) {
	word = e.base | uint32(n)<<5 | uint32(d)
	if e.form == zero2 {
		return word, fmt.Sprintf("%s v%d.4s, v%d.4s, #0.0", e.name, d, n)
	}
	word |= uint32(m) << 16
	switch e.form {
	case bytes3:
		return word, fmt.Sprintf("%s v%d.16b, v%d.16b, v%d.16b", e.name, d, n, m)
	case element: // the lane's low bit is L, bit 21, its high bit H, bit 11
		word |= uint32(lane&1)<<21 | uint32(lane>>1)<<11
		return word, fmt.Sprintf("%s v%d.4s, v%d.4s, v%d.s[%d]", e.name, d, n, m, lane)
	case loadQ:
		return word, fmt.Sprintf("%s q%d, [x%d, x%d]", e.name, d, n, m)
	}
	return word, fmt.Sprintf("%s v%d.4s, v%d.4s, v%d.4s", e.name, d, n, m)
}

// word emits an encoded instruction.
func (f *Func) word(e encoding, d, n, m, lane int) {
	word, text := e.encode(d, n, m, lane)
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

// FMLALane is d += n·m, m a single lane.
func (f *Func) FMLALane(d, n Vec, m Lane) {
	f.check("fmla", d, n, m)
	if m.lane < 0 || m.lane > 3 {
		f.fail("fmla: lane %d", m.lane)
	}
	f.word(fmlaElement, d.n, n.n, m.v.n, m.lane)
}

func (f *Func) FADD(d, n, m Vec)  { f.vec3(fadd, d, n, m) }  // d = n + m
func (f *Func) FSUB(d, n, m Vec)  { f.vec3(fsub, d, n, m) }  // d = n - m
func (f *Func) FMUL(d, n, m Vec)  { f.vec3(fmul, d, n, m) }  // d = n · m
func (f *Func) FDIV(d, n, m Vec)  { f.vec3(fdiv, d, n, m) }  // d = n / m
func (f *Func) FCMGT(d, n, m Vec) { f.vec3(fcmgt, d, n, m) } // d = n > m: all bits of a lane, or none
func (f *Func) FCMEQ(d, n, m Vec) { f.vec3(fcmeq, d, n, m) } // d = n == m
func (f *Func) FCMEQZero(d, n Vec) { // d = n == 0
	f.vec2(fcmeqZero, d, n)
}
func (f *Func) CMGT(d, n, m Vec) { f.vec3(cmgt, d, n, m) } // d = n > m, int32
func (f *Func) CMGE(d, n, m Vec) { f.vec3(cmge, d, n, m) } // d = n ≥ m, int32
func (f *Func) BIC(d, n, m Vec)  { f.vec3(bic, d, n, m) }  // d = n AND NOT m

// LDRQ is d = the 16 bytes at n + m.
func (f *Func) LDRQ(d Vec, n, m GP) {
	f.check("ldr", d, n, m)
	f.word(ldrOffset, d.n, n.n, m.n, 0)
}
