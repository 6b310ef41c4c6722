//go:build (!amd64 && !arm64) || purego

package kernel

// archTiers is empty: no assembly for this architecture, or none wanted.
func archTiers() []tier { return nil }

// pause is for loops that wait for another thread.
func pause() {}
