//go:build (!amd64 && !arm64) || purego

package tier

// HostCPU returns AnyCPU: this build has no numbers that depend on the CPU.
func HostCPU() CPU { return CPU{AnyCPU, ByNone} }
