//go:build (!amd64 && !arm64 && !riscv64) || purego

package tier

// lacks is asked for no feature, as there are no kernels that need one.
var lacks = func(feature string) bool { return true }

// archTiers returns no tier: there is no assembly for this architecture, or the build
// excludes it.
func archTiers() []Tier { return nil }
