//go:build arm64 && !purego

package tier

import "golang.org/x/sys/cpu"

// cpuFeatures says which features this CPU has, by the names that layers of kernels have for them.
var cpuFeatures = map[string]*bool{
	"ASIMDDP": &cpu.ARM64.HasASIMDDP,
	"I8MM":    &cpu.ARM64.HasI8MM,
}
