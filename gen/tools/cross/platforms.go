package main

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// A platform is an architecture and a CPU to test on.
type platform struct {
	arch  string // GOARCH
	goos  string // "": linux
	cpu   string // the model, by the emulator's name
	qemu  string // the emulator's name, without qemu- and -static; "": none
	model string // what qemu takes for the model, if it is not the name
	bochs bool   // whether the emulator is Bochs
	vars  string // more environment variables for the build, such as GOARM=7

	list []testedPackage // the tests; nil: the tests of all packages

	// skip matches tests that fail by a fault of the emulator.
	skip string

	// brief is set if other platforms run all tests with the same kind of code: a machine with
	// AVX2 by make test, with an FMA in one instruction in .ci/run, too, cortex-a57, s390x and
	// 386. Then this one leaves out the sweeps of each package.
	brief bool

	// deepSweeps is set if it leaves out the sweeps without -deep, as cortex-a57 and 386 have them.
	// The packages that are tested on its architecture alone stay.
	deepSweeps bool

	// native are the flags of /proc/cpuinfo on a machine that runs the platform's tiers itself:
	// make test compares each kernel there, over all remainders and between guard pages. The
	// emulated CPU still shows that a kernel has no instruction that it lacks. So without -deep,
	// one call of each kernel in nativeOneOf and the tests of nativeList stay.
	native     string
	nativeList []testedPackage

	// deep is set if others have all that matters here. Only -deep runs it, or -only with its name.
	deep bool

	// oneOf is how many calls of a kernel there are for each that is made. 0: what the list says.
	oneOf int

	// took is about how many seconds the build and the tests took on an otherwise idle machine.
	// Those that take longest start first.
	took int

	bits  int  // of a pointer
	big   bool // big-endian
	tiers string

	feature string // of the CPU: there must be kernels that need it
	fused   bool   // whether package scalar computes a float32 fma by one instruction
}

// platforms are in the order of the table. The CPU models are as old as qemu has them, so that a
// kernel fails if it uses an instruction that they lack. Two are there for the features that more
// kernels need: the model of Bochs has VNNI, and max is all that qemu knows of arm64. With
// GOAMD64=v3, package scalar computes an fma by one instruction, which takes Bochs half the time.
//
// VMASKMOVPS accesses only the lanes whose mask is set. Qemu 7.2 accesses all of the vector, which
// tests between guard pages notice. CPUs do not: make test shows that on those with AVX2.
//
// Bochs does the same for VCVTPH2PS, VPMOVZXWD and VPMOVSXBD under a mask. make test shows that
// CPUs with AVX-512 do not.
//
// The 5KEf of qemu 7.2 is no CPU for mips64le: its CTC1 does not restore the result of the last
// comparison. So a goroutine that is preempted between a comparison and its branch goes the wrong
// way.
var platforms = []platform{
	{arch: "amd64", cpu: "corei7_icelake_u", bochs: true, list: bochsTests, native: "avx512_vnni avx512vl avx512dq fma f16c", nativeList: nativeBochsTests, skip: "TestGuard/kernel=Skinny.PV(Rows)?(F16|BF16|F8E4M3|F8E5M2|Int8)$", vars: "GOAMD64=v3", took: 520, bits: 64, tiers: "avx512 avx2 generic", feature: "AVX512VNNI", fused: true},
	{arch: "amd64", cpu: "Haswell", qemu: "x86_64", vars: "GOAMD64=v1", native: "avx2 fma f16c", skip: "TestGuard/kernel=(Skinny.(HeadValues|Merge|PV|Unpack)|Convert.(RoundBF16|WidenPairs|NarrowPairs)|Norms|Elementwise.(Ad|Exp2|Mul|Rotate|Scale|Tanh)|Activations|Rows)|TestGuardAdditiveBackward$|TestBackwardGuard$", brief: true, took: 130, bits: 64, tiers: "avx2 generic"},
	{arch: "amd64", cpu: "Nehalem", qemu: "x86_64", vars: "GOAMD64=v1", brief: true, took: 45, bits: 64, tiers: "generic"},
	{arch: "arm64", cpu: "cortex-a57", qemu: "aarch64", took: 190, bits: 64, tiers: "neon generic", fused: true},
	{arch: "arm64", cpu: "max", qemu: "aarch64", list: dotTests, took: 60, bits: 64, tiers: "neon generic", feature: "ASIMDDP", fused: true},
	{arch: "arm", cpu: "cortex-a15", qemu: "arm", vars: "GOARM=7", deep: true, list: goldenTests, took: 65, bits: 32, tiers: "generic"},
	{arch: "386", cpu: "native", took: 70, bits: 32, tiers: "generic"},
	{arch: "riscv64", cpu: "rv64", qemu: "riscv64", deep: true, list: receiptTests, took: 65, bits: 64, tiers: "generic", fused: true},
	{arch: "riscv64", cpu: "rv64-v128", model: vectors + "128", qemu: "riscv64", list: vectorTests("GemmEvenOdd|Skinny.(QK|PV)(F16|Int8)|Weights.(GemmF16|Blocks.(S[48]|U4|E2M1|IQ4).Gemm|Blocks.([SU][48]|E2M1|IQ4|U[45]x(16|32)).GemmInt8)", miniLM), took: 100, bits: 64, tiers: "rvv generic", fused: true},
	{arch: "riscv64", cpu: "rv64-v256", model: vectors + "256", qemu: "riscv64", list: vectorTests("Skinny.(QK|PV)BF16|Weights.(GemmBF16|Blocks.(S6x16|S[58]x16F32).GemmInt8)", smallDecoder), took: 110, bits: 64, tiers: "rvv generic", fused: true},
	{arch: "riscv64", cpu: "rv64-v1024", model: vectors + "1024", qemu: "riscv64", deep: true, list: vectorTests("GemmEvenOdd|Skinny.(QK|PV)Int8|Weights.Blocks.(S[48].Gemm|[SU][48].GemmInt8|(E2M1|IQ4).Gemm(Int8)?)"), took: 60, bits: 64, tiers: "rvv generic", fused: true},
	{arch: "s390x", cpu: "max", qemu: "s390x", deepSweeps: true, took: 150, bits: 64, big: true, tiers: "generic", fused: true},
	{arch: "ppc64le", cpu: "power8", qemu: "ppc64le", deep: true, list: goldenTests, took: 65, bits: 64, tiers: "generic", fused: true},
	{arch: "ppc64", cpu: "power8", qemu: "ppc64", deep: true, list: goldenTests, took: 65, bits: 64, big: true, tiers: "generic", fused: true},
	{arch: "loong64", cpu: "la464-loongarch-cpu", qemu: "loongarch64", deep: true, list: goldenTests, took: 65, bits: 64, tiers: "generic", fused: true},
	{arch: "mips", cpu: "24Kf", qemu: "mips", deep: true, list: goldenTests, took: 65, bits: 32, big: true, tiers: "generic"},
	{arch: "mipsle", cpu: "24Kf", qemu: "mipsel", deep: true, list: goldenTests, took: 65, bits: 32, tiers: "generic"},
	{arch: "mips64le", cpu: "5Kf", qemu: "mips64el", deep: true, list: goldenTests, took: 65, bits: 64, tiers: "generic"},
	{arch: "wasm", goos: "wasip1", cpu: "wazero", deep: true, list: goldenTests, took: 65, bits: 64, tiers: "generic"},
}

// nativeOneOf is how many calls there are for each that a platform makes whose tiers run natively.
const nativeOneOf = 8

// isNative reports whether the machine with these flags of /proc/cpuinfo runs the platform's tiers.
func (p *platform) isNative(flags string) bool {
	missing := func(flag string) bool { return !has(flags, flag) }
	return p.native != "" && !slices.ContainsFunc(strings.Fields(p.native), missing)
}

// thin leaves out what make test on this machine shows.
func (p *platform) thin() {
	if p.nativeList != nil {
		p.list = p.nativeList
	}
	p.oneOf = nativeOneOf
}

// makeAllCalls takes back that the platform's own list thins calls of kernels.
func (p *platform) makeAllCalls() {
	p.list = slices.Clone(p.list)
	for i := range p.list {
		p.list[i].oneOf = 0
	}
}

// cpuFlags returns the flags of the first CPU in /proc/cpuinfo, "" if there are none.
func cpuFlags() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, flags, _ := strings.Cut(string(info), "\nflags")
	flags, _, _ = strings.Cut(flags, "\n")
	return flags
}

// vectors is a model of RISC-V with vectors, to which their length in bits is added. Lanes that an
// instruction leaves to the CPU become ones, so that a kernel that reads them fails.
const vectors = "rv64,v=true,vext_spec=v1.0,rvv_ta_all_1s=on,rvv_ma_all_1s=on,vlen="

// target returns what the binaries are built for, such as linux-arm64.
func (p *platform) target() string {
	if p.goos == "" {
		return "linux-" + p.arch
	}
	return p.goos + "-" + p.arch
}

// env returns the environment variables for the build.
func (p *platform) env() []string {
	goos, arch, _ := strings.Cut(p.target(), "-")
	return append(strings.Fields(p.vars), "GOOS="+goos, "GOARCH="+arch)
}

// emulator returns the name of the installed command that runs the binaries. It is "" for
// 386, which needs none, and for WebAssembly, whose runtime cross builds.
func (p *platform) emulator() string {
	switch {
	case p.bochs:
		return "bochs"
	case p.qemu != "":
		return "qemu-" + p.qemu + "-static"
	}
	return ""
}

// under returns what runs the binaries, for the table.
func (p *platform) under() string {
	switch {
	case p.bochs:
		return "bochs"
	case p.qemu != "":
		return "qemu"
	case p.arch == "wasm":
		return "wazero"
	}
	return runtime.GOARCH
}
