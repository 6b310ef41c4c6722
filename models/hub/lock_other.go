//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package hub

import "os"

// lock locks nothing: two programs that fetch one file at once may spoil its part, which the hash
// tells.
func lock(*os.File) (bool, error) { return true, nil }
