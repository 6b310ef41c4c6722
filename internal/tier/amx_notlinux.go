//go:build amd64 && !purego && !linux

package tier

import "runtime"

// requestTiles asks nobody: how other operating systems grant tiles has not been tried.
func requestTiles() (fault string) { return "not used, as it has not been tried on " + runtime.GOOS }
