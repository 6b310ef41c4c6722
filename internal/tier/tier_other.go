//go:build (!amd64 && !arm64 && !riscv64) || purego

package tier

// archTiers returns no tier: there is no assembly for this architecture, or the build
// excludes it.
func archTiers() []Tier { return nil }
