// Package suite holds further measurements of the bench command. Each suite compares one
// part of attn with the limit of the machine that matters there, or with a plain call, and
// prints tables of its own.
package suite

import (
	"context"
	"io"

	"github.com/attn-go/attn/bench/internal/machine"
)

// A Suite is a set of measurements. A flag of its name runs it.
type Suite struct {
	Name  string
	Usage string
	Run   func(ctx context.Context, c *Config, out io.Writer) error
}

// All lists the suites in the order in which they run. To add one, add an entry.
var All = []Suite{
	{"options", "measure what each option costs", Options},
	{"linear", "measure linear layers", Linear},
	{"layer", "measure the multi-head module, additive attention and norms", Layer},
	{"decode", "measure decoding in comparison with the bandwidth of caches and memory", Decode},
	{"accuracy", "compare the errors against float64 with PyTorch's", Accuracy},
	{"cache", "measure attention on pages, and the growth and forks of a cache", Cache},
}

// A Config says what the suites measure.
type Config struct {
	Tiers   []string
	Threads []int
	Generic bool // the user has named the tiers, so time the generic one if it is there
}

// vectorTiers returns the tiers to measure, without the generic one unless it was asked for.
func (c *Config) vectorTiers() []string {
	var tiers []string
	for _, t := range c.Tiers {
		if t != machine.Generic || c.Generic {
			tiers = append(tiers, t)
		}
	}
	return tiers
}
