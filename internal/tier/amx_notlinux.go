//go:build amd64 && !purego && !linux

package tier

import (
	"errors"
	"runtime"
)

// requestTiles asks nobody: how other operating systems grant tiles has not been tried.
func requestTiles() error { return errors.New("not tried on " + runtime.GOOS) }
