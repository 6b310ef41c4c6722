package suite

import "github.com/attn-go/attn/bench/internal/machine"

// The functions in this file count how many rows a suite measures, for the progress bar.

func optionSteps(c *Config) (n int) {
	for i := range optionShapes {
		for j := range options {
			if options[j].appliesTo(&optionShapes[i]) && c.takesOptions(&optionShapes[i]) {
				n += len(c.vectorTiers())
			}
		}
	}
	return n
}

func linearSteps(c *Config) (n int) {
	for _, s := range linearShapes {
		for _, tier := range c.Tiers {
			if c.takesLinear(s) && c.timesLinear(s, tier) {
				n += len(linearWeights) * len(c.Threads)
			}
		}
	}
	return n
}

func layerSteps(c *Config) int {
	shapes := len(some(c, multiHeadShapes, 1)) + len(some(c, additiveShapes, 1)) + 4*len(some(c, normShapes, 1))
	return shapes * len(c.vectorTiers()) * len(c.Threads)
}

func decodeSteps(c *Config) int {
	tiers := len(c.decodeTiers())
	n := len(cacheLevels()) * len(elementTypes) * tiers * len(c.Threads)
	if c.Quick {
		return n
	}
	n += len(queryCounts) * tiers
	if machine.MaxThreads() > 1 {
		n += 2 * len(raggedTypes) * tiers
	}
	return n
}

func accuracySteps(c *Config) (n int) {
	for _, a := range accuracyCases() {
		if c.takesAccuracy(a) {
			n++
		}
	}
	return n
}

func cacheSteps(c *Config) int {
	return 4*len(some(c, pagesShapes, 1)) + 2*len(some(c, growthCounts, 2))*len(some(c, growthPages, 1))
}
