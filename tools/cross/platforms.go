package main

import (
	"runtime"
	"strings"
)

// A platform is an architecture and a CPU to test on.
type platform struct {
	arch  string // GOARCH
	goos  string // "": linux
	cpu   string // the model, by the emulator's name
	qemu  string // the emulator's name, without qemu- and -static; "": none
	bochs bool   // whether the emulator is Bochs, and the tests are those of bochsTests
	vars  string // more environment variables for the build, such as GOARM=7

	// skip matches tests that fail by a fault of the emulator.
	skip string

	bits  int  // of a pointer
	big   bool // big-endian
	tiers string
	fused bool // whether fallback computes a float32 fma by one instruction
}

// platforms are in the order of the table. The CPU models are as old as qemu has them, so
// that a kernel fails if it uses an instruction that they lack. With GOAMD64=v3, package
// fallback computes an fma by one instruction, which takes Bochs half the time.
//
// VMASKMOVPS accesses only the lanes whose mask is set. Qemu 7.2 accesses all of the
// vector, which tests between guard pages notice. CPUs do not: make test shows that on those with AVX2.
var platforms = []platform{
	{arch: "amd64", cpu: "corei7_skylake_x", bochs: true, vars: "GOAMD64=v3", bits: 64, tiers: "avx512 avx2 generic", fused: true},
	{arch: "amd64", cpu: "Haswell", qemu: "x86_64", skip: "TestGuard/kernel=Norms|TestGuardAdditiveBackward$|TestBackwardGuard$", bits: 64, tiers: "avx2 generic"},
	{arch: "amd64", cpu: "Nehalem", qemu: "x86_64", bits: 64, tiers: "generic"},
	{arch: "arm64", cpu: "cortex-a57", qemu: "aarch64", bits: 64, tiers: "neon generic", fused: true},
	{arch: "arm64", cpu: "max", qemu: "aarch64", bits: 64, tiers: "neon generic", fused: true},
	{arch: "arm", cpu: "cortex-a15", qemu: "arm", vars: "GOARM=7", bits: 32, tiers: "generic"},
	{arch: "386", cpu: "native", bits: 32, tiers: "generic"},
	{arch: "riscv64", cpu: "rv64", qemu: "riscv64", bits: 64, tiers: "generic", fused: true},
	{arch: "s390x", cpu: "max", qemu: "s390x", bits: 64, big: true, tiers: "generic", fused: true},
	{arch: "ppc64le", cpu: "power8", qemu: "ppc64le", bits: 64, tiers: "generic", fused: true},
	{arch: "ppc64", cpu: "power8", qemu: "ppc64", bits: 64, big: true, tiers: "generic", fused: true},
	{arch: "loong64", cpu: "la464-loongarch-cpu", qemu: "loongarch64", bits: 64, tiers: "generic", fused: true},
	{arch: "mips", cpu: "24Kf", qemu: "mips", bits: 32, big: true, tiers: "generic"},
	{arch: "mipsle", cpu: "24Kf", qemu: "mipsel", bits: 32, tiers: "generic"},
	{arch: "mips64le", cpu: "5KEf", qemu: "mips64el", bits: 64, tiers: "generic"},
	{arch: "wasm", goos: "wasip1", cpu: "wazero", bits: 64, tiers: "generic"},
}

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
