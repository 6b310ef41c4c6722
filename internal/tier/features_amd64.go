//go:build amd64 && !purego

package tier

import "golang.org/x/sys/cpu"

// cpuFeatures says which features this CPU has, by the names that layers of kernels have for them.
var cpuFeatures = map[string]*bool{
	"AVX2":        &cpu.X86.HasAVX2,
	"AVX512BW":    &cpu.X86.HasAVX512BW,
	"AVX512DQ":    &cpu.X86.HasAVX512DQ,
	"AVX512F":     &cpu.X86.HasAVX512F,
	"AVX512VBMI":  &cpu.X86.HasAVX512VBMI,
	"AVX512VL":    &cpu.X86.HasAVX512VL,
	"AVX512VNNI":  &cpu.X86.HasAVX512VNNI,
	"AVXVNNI":     &cpu.X86.HasAVXVNNI,
	"AVXVNNIINT8": &cpu.X86.HasAVXVNNIInt8,
	"F16C":        &cpu.X86.HasF16C,
	"FMA3":        &cpu.X86.HasFMA,
}
