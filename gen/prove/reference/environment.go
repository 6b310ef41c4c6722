package reference

import "os"

func environment() []string { return os.Environ() }
