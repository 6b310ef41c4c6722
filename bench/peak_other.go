//go:build (!amd64 && !arm64) || purego

package main

// vectorProbe returns nil: this build has no probe in assembly.
func vectorProbe(string) *probe { return nil }
