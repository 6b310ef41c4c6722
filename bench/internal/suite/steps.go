package suite

import (
	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/models/weights"
)

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
	for _, s := range chosen(c, linearShapes) {
		for _, tier := range c.Tiers {
			if c.timesLinear(s, tier) {
				n += len(s.weights()) * len(c.Threads)
			}
		}
	}
	return n
}

func layerSteps(c *Config) int {
	shapes := len(chosen(c, multiHeadShapes)) + len(chosen(c, additiveShapes)) + 4*len(chosen(c, normShapes))
	return shapes * len(c.vectorTiers()) * len(c.Threads)
}

func backwardSteps(c *Config) int {
	return len(c.chosenBackward()) * len(c.vectorTiers()) * len(c.Threads)
}

func decodeSteps(c *Config) int {
	tiers := len(c.decodeTiers())
	n := len(chosen(c, cacheLevels())) * len(elementTypes) * tiers * len(c.Threads)
	if c.takes(false, groupsShape) {
		for _, level := range cacheLevels() {
			for _, t := range elementTypes {
				n += len(groupSizes(level, t)) * tiers
			}
		}
	}
	if c.takes(false, queriesShape) {
		n += len(queryCounts) * tiers
	}
	if c.takes(false, raggedShape) && machine.MaxThreads() > 1 {
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

func modelSteps(c *Config) (n int) {
	for _, t := range chosen(c, modelTasks) {
		if _, err := weights.Find(t.model.path); err == nil {
			n += len(c.vectorTiers()) * len(c.Threads)
		}
	}
	return n
}
