package spec

// The activations of feed-forward layers.
var (
	SiLU = Function{ActivationTable, "SiLU", "(dst, src []float32)",
		"computes dst = SiLU(src) for len(dst) elements. dst may be src."}
	GELU = Function{ActivationTable, "GELU", "(dst, src []float32)",
		"computes dst = GELU(src) for len(dst) elements. dst may be src."}
	GELUTanh = Function{ActivationTable, "GELUTanh", "(dst, src []float32)",
		"computes dst = GELU(src), with tanh, for len(dst) elements. dst may be src."}
	SwiGLU = Function{ActivationTable, "SwiGLU", "(dst, gate, up []float32)",
		"computes dst = SiLU(gate)·up for len(dst) elements. dst may be gate or up."}
	GeGLU = Function{ActivationTable, "GeGLU", "(dst, gate, up []float32)",
		"computes dst = GELU(gate)·up for len(dst) elements. dst may be gate or up."}
	GeGLUTanh = Function{ActivationTable, "GeGLUTanh", "(dst, gate, up []float32)",
		"computes dst = GELU(gate)·up, with tanh, for len(dst) elements. dst may be gate or up."}
)

// The element-wise part of a gated recurrent unit.
var (
	GRU = Function{ActivationTable, "GRU", "(state, gates, in, hidden []float32)",
		"replaces a state of a gated recurrent unit by the next one, and writes the gates."}
	GRUBackward = Function{ActivationTable, "GRUBackward", "(d, dIn, dHidden, gates, hidden, before []float32)",
		"takes the gradient d of a state to the state before, and writes those of in and hidden."}
)

// An Activator emits the activations.
type Activator interface {
	SiLU()
	GELU()
	GELUTanh()
	SwiGLU()
	GeGLU()
	GeGLUTanh()
	GRU()
	GRUBackward()
}

func emitActivations(a Activator) {
	a.SiLU()
	a.GELU()
	a.GELUTanh()
	a.SwiGLU()
	a.GeGLU()
	a.GeGLUTanh()
	a.GRU()
	a.GRUBackward()
}

// Numbers of SiLU and GELUTanh, as float32 bits: z/(1+2^t) with t = c·(high+low), where c is
// z or a limit.
const (
	SiLULowest      = 0xc2dc0000
	SiLUHighest     = 0x41f00000
	NegLog2EHigh    = 0xbfb8aa3b // high + low = -log2 e
	NegLog2ELow     = 0xb2a57060
	GELUTanhLowest  = 0xc12e6666
	GELUTanhHighest = 0x40c00000
	TanhC0High      = 0xc0135760 // high + low = C0 + C1·c²
	TanhC0Low       = 0xb486f39d
	TanhC1High      = 0xbdd2d3e8
	TanhC1Low       = 0x310a8d56
)

// Numbers of GELU, as float32 bits.
const (
	GELULowest  = 0xc1666666
	GELUHighest = 0x40c00000
	GELUHigh    = 0xbf38aa3b // -log2 e/2 = high + low
	GELULow     = 0xb2257060
	GELURound   = 0x4b400020 // RoundMagic + 32
	GELUUnscale = 0x2f800000 // 2^-32
	GELUDensity = 0x3fa09cea
	GELUStart   = 0x3f9a8279
)

// GELUInterval is log2 of the number of floats in an interval of a·GELUDensity + GELUStart.
const GELUInterval = 22

// GELUC are the points that GELU expands around, and GELUT the coefficients of its
// polynomials, the constant terms first.
var (
	GELUC = []uint32{0x00000000, 0x3f2e4a17, 0x3fae61e6, 0x401484a2, 0x406c3827, 0x40b30e31, 0x41050e21, 0x41433670}
	GELUT = [...][]uint32{
		{0x00000000, 0x3e59fb84, 0x3e98b188, 0x3eb231d3, 0x3ebfbdf4, 0x3ec64702, 0x3ec96cad, 0x3ecae9be},
		{0x3f000000, 0x3e3e7545, 0x3da751b2, 0x3d027030, 0x3c3812ec, 0x3b7bf105, 0x3aa79641, 0x39dd7cbd},
		{0xbecc41ed, 0xbdfb66ec, 0xbd389250, 0xbc64a81c, 0xbb735030, 0xba72e082, 0xb965655d, 0xb8545248},
		{0x3e7fef6c, 0x3d856371, 0x3ca6f38e, 0x3ba7e8da, 0x3a897551, 0x394b38b6, 0x3809a63d, 0x36b37e2f},
		{0xbe0769be, 0xbcf448f1, 0xbc043e5c, 0xbadbba97, 0xb98ca690, 0xb81c4d54, 0xb699481a, 0xb50d64d1},
		{0x3d70308e, 0x3c4bdd1d, 0x3b432920, 0x3a09540c, 0x388d92da, 0x36f18d91, 0x352e2774, 0x33658a63},
		{0xbc8b8d3a, 0xbb9aedf1, 0xba82f329, 0xb918d8cd, 0xb7820b21, 0xb5a6aed1, 0xb3b1ca7f, 0xb1ac238b},
	}
)
