//go:build (!amd64 && !arm64) || purego

package main

// vectorProbe returns nil: this build has no probe in assembly.
func vectorProbe(string) *probe { return nil }

// vectorReader returns nil as well.
func vectorReader(string) func(p []float32) { return nil }

// vectorTanh returns nil as well.
func vectorTanh(string) func(dst, src []float32) { return nil }
