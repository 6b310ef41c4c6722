// Package outputs says where the examples write files for which a command line has no name.
package outputs

import (
	"os"
	"path/filepath"
)

// Path returns the path of such a file: in attn/examples below the user's cache folder, so that the
// folder in which a command runs stays as it is. Without a cache folder it is that of temporary files.
func Path(name string) string { return filepath.Join(folder(), name) }

func folder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "attn", "examples")
}

// Make makes the folder of a file that Path has named. Those of other files must be there.
func Make(path string) error {
	if filepath.Dir(path) != folder() {
		return nil
	}
	return os.MkdirAll(folder(), 0o777)
}
