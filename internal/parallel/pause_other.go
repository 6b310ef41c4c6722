//go:build (!amd64 && !arm64) || purego

package parallel

// pause is for loops that wait for another thread. There is no instruction for it here.
func pause() {}
