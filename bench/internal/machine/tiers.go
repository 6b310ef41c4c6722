package machine

import (
	"runtime"

	"github.com/attn-go/attn/kernel"
)

// Generic is the tier in plain Go. It runs everywhere; the results of the other tiers are
// compared with its results.
const Generic = "generic"

// GenericFlops bounds the work of one call that Generic is timed on. Only on request it is
// timed on more, as that takes long.
const GenericFlops = 32e6

// Tiers returns the names of the tiers that run here, best first.
func Tiers() []string {
	var names []string
	for _, t := range kernel.Tiers() {
		if t.Runs {
			names = append(names, t.Name)
		}
	}
	return names
}

// MaxThreads returns how many threads run at once, GOMAXPROCS.
func MaxThreads() int { return runtime.GOMAXPROCS(0) }
