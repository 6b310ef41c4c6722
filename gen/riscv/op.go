package riscv

import "strings"

// A form says which operands an instruction of vectors has, in the order of Go's assembler. m is a
// group of the size in force, w is two such groups with elements of twice the size, h and q are half and a quarter of one with elements of 16 and 8 bits, v is a
// single register with a mask, f a floating-point register, x a general one, p an address, i a number.
type form string

// vectorOps are the instructions of vectors that the kernels use, with the name and the order of
// operands in the manual, by numbers of those in Go's order.
var vectorOps = map[string]struct {
	form   form
	manual string
	order  string
}{
	"VLE32V":       {"p m", "vle32.v", "10"},
	"VLE64V":       {"p m", "vle64.v", "10"},
	"VSE64V":       {"m p", "vse64.v", "01"},
	"VFWCVTFFV":    {"m w", "vfwcvt.f.f.v", "10"},
	"VFNCVTFFW":    {"w m", "vfncvt.f.f.w", "10"},
	"VMFEQVV":      {"m m v", "vmfeq.vv", "210"},
	"VLE16V":       {"p h", "vle16.v", "10"},
	"VLE8V":        {"p q", "vle8.v", "10"},
	"VZEXTVF2":     {"h m", "vzext.vf2", "10"},
	"VSEXTVF2":     {"h m", "vsext.vf2", "10"},
	"VSEXTVF4":     {"q m", "vsext.vf4", "10"},
	"VANDVX":       {"x m m", "vand.vx", "210"},
	"VORVX":        {"x m m", "vor.vx", "210"},
	"VMSEQVX":      {"x m v", "vmseq.vx", "210"},
	"VMSGTVX":      {"x m v", "vmsgt.vx", "210"},
	"VMSLEVX":      {"x m v", "vmsle.vx", "210"},
	"VFMULVF":      {"f m m", "vfmul.vf", "210"},
	"VFCVTFXUV":    {"m m", "vfcvt.f.xu.v", "10"},
	"VFCVTFXV":     {"m m", "vfcvt.f.x.v", "10"},
	"VSE32V":       {"m p", "vse32.v", "01"},
	"VSE16V":       {"h p", "vse16.v", "01"},
	"VSE8V":        {"q p", "vse8.v", "01"},
	"VNSRLWI":      {"i m h", "vnsrl.wi", "210"},
	"VNCVTXXW":     {"h q", "vncvt.x.x.w", "10"},
	"VLSE32V":      {"p x m", "vlse32.v", "201"},
	"VSSE32V":      {"m x p", "vsse32.v", "021"},
	"VLUXEI64V":    {"p w m", "vluxei64.v", "201"},
	"VMULVX":       {"x m m", "vmul.vx", "210"},
	"VMULHUVX":     {"x m m", "vmulhu.vx", "210"},
	"VXORVX":       {"x m m", "vxor.vx", "210"},
	"VXORVV":       {"m m m", "vxor.vv", "210"},
	"VMSLTUVX":     {"x m v", "vmsltu.vx", "210"},
	"VZEXTVF4":     {"q m", "vzext.vf4", "10"},
	"VLUXEI32V":    {"p m m", "vluxei32.v", "201"},
	"VIDV":         {"m", "vid.v", "0"},
	"VXORVI":       {"i m m", "vxor.vi", "210"},
	"VANDVI":       {"i m m", "vand.vi", "210"},
	"VADDVX":       {"x m m", "vadd.vx", "210"},
	"VMINUVV":      {"m m m", "vminu.vv", "210"},
	"VMINUVX":      {"x m m", "vminu.vx", "210"},
	"VFMVVF":       {"f m", "vfmv.v.f", "10"},
	"VMVVV":        {"m m", "vmv.v.v", "10"},
	"VMVVX":        {"x m", "vmv.v.x", "10"},
	"VMVVI":        {"i m", "vmv.v.i", "10"},
	"VFADDVV":      {"m m m", "vfadd.vv", "210"},
	"VFADDVF":      {"f m m", "vfadd.vf", "210"},
	"VFSUBVV":      {"m m m", "vfsub.vv", "210"},
	"VFSUBVF":      {"f m m", "vfsub.vf", "210"},
	"VFMULVV":      {"m m m", "vfmul.vv", "210"},
	"VFMACCVF":     {"m f m", "vfmacc.vf", "210"},
	"VFMACCVV":     {"m m m", "vfmacc.vv", "210"},
	"VFMADDVV":     {"m m m", "vfmadd.vv", "210"},
	"VSLLVI":       {"i m m", "vsll.vi", "210"},
	"VMFLTVV":      {"m m v", "vmflt.vv", "210"},
	"VMFLTVF":      {"f m v", "vmflt.vf", "210"},
	"VMFNEVV":      {"m m v", "vmfne.vv", "210"},
	"VMFEQVF":      {"f m v", "vmfeq.vf", "210"},
	"VMFGTVF":      {"f m v", "vmfgt.vf", "210"},
	"VFSGNJVV":     {"m m m", "vfsgnj.vv", "210"},
	"VFABSV":       {"m m", "vfabs.v", "10"},
	"VRGATHERVV":   {"m m m", "vrgather.vv", "210"},
	"VFRSUBVF":     {"f m m", "vfrsub.vf", "210"},
	"VFDIVVV":      {"m m m", "vfdiv.vv", "210"},
	"VFDIVVF":      {"f m m", "vfdiv.vf", "210"},
	"VFSQRTV":      {"m m", "vfsqrt.v", "10"},
	"VFNMSACVF":    {"m f m", "vfnmsac.vf", "210"},
	"VMAXVV":       {"m m m", "vmax.vv", "210"},
	"VMSLTVX":      {"x m v", "vmslt.vx", "210"},
	"VFNMSACVV":    {"m m m", "vfnmsac.vv", "210"},
	"VADDVV":       {"m m m", "vadd.vv", "210"},
	"VSUBVX":       {"x m m", "vsub.vx", "210"},
	"VSUBVV":       {"m m m", "vsub.vv", "210"},
	"VRSUBVX":      {"x m m", "vrsub.vx", "210"},
	"VSRLVI":       {"i m m", "vsrl.vi", "210"},
	"VSRLVX":       {"x m m", "vsrl.vx", "210"},
	"VSRAVI":       {"i m m", "vsra.vi", "210"},
	"VORVV":        {"m m m", "vor.vv", "210"},
	"VSLIDEDOWNVX": {"x m m", "vslidedown.vx", "210"},
	"VFMVFS":       {"m f", "vfmv.f.s", "10"},
	"VMERGEVVM":    {"m m v m", "vmerge.vvm", "3102"},
	"VMERGEVXM":    {"x m v m", "vmerge.vxm", "3102"},
	"VFMERGEVFM":   {"f m v m", "vfmerge.vfm", "3102"},
}

// kinds are those of the operands of an instruction.
func (f form) kinds() []string { return strings.Fields(string(f)) }
