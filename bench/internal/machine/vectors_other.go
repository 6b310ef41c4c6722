//go:build (!amd64 && !arm64) || purego

package machine

// vectorProbe returns nil: this build has no assembly.
func vectorProbe(string) *Probe { return nil }

// vectorReader returns nil: this build has no assembly.
func vectorReader(string) func(p []float32) { return nil }

// vectorTanh returns nil: this build has no assembly.
func vectorTanh(string) func(dst, src []float32) { return nil }
