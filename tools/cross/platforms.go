package main

import (
	"path"
	"runtime"
	"strings"
)

// A platform is an architecture on a CPU.
type platform struct {
	arch string // GOARCH
	goos string // "": linux
	cpu  string // the emulator's name for the model, or what runs it
	qemu string // the emulator, without qemu- and -static; "": none
	vars string // more environment for the build, such as GOARM=7

	bits  int  // of a pointer
	big   bool // endian
	tiers string
	fused bool // the compiler has a float32 fma that fallback uses
}

// platforms are in the order of the table. The CPU models are old ones where qemu
// has them, as new ones hide instructions that those lack.
var platforms = []platform{
	{arch: "amd64", cpu: "Haswell", qemu: "x86_64", bits: 64, tiers: "avx2 generic"},
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

// target names what the binaries of the platform are built for.
func (p *platform) target() string {
	if p.goos == "" {
		return "linux-" + p.arch
	}
	return p.goos + "-" + p.arch
}

// env is what the platform is built with.
func (p *platform) env() []string {
	goos, arch, _ := strings.Cut(p.target(), "-")
	return append(strings.Fields(p.vars), "GOOS="+goos, "GOARCH="+arch)
}

// emulator is the command that runs the platform's binaries, "" for none or one
// that is built here.
func (p *platform) emulator() string {
	if p.qemu == "" {
		return ""
	}
	return "qemu-" + p.qemu + "-static"
}

// under says what runs the binaries.
func (p *platform) under() string {
	switch {
	case p.qemu != "":
		return "qemu"
	case p.arch == "wasm":
		return "wazero"
	}
	return runtime.GOARCH
}

// command starts the test binary of a package. tmp is a folder for temporary files.
func (p *platform) command(root, tmp, pkg, wazero, binary string) []string {
	switch {
	case p.qemu != "":
		return []string{p.emulator(), "-cpu", p.cpu, binary}
	case p.arch == "wasm":
		return []string{wazero, "run", "-mount=" + root + ":/attn:ro", "-mount=" + tmp + ":/tmp", "-env=PWD=" + path.Join("/attn", pkg), binary}
	}
	return []string{binary}
}
