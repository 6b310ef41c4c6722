package kernel

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// A tier is one implementation of the micro-kernels, for one ISA. It inherits
// nothing silently: what it has is listed in its entry.
type tier struct {
	name string

	// lacks returns what this CPU lacks to run the tier, "" if nothing.
	lacks func() string

	// panels are the panel widths that the tier has kernels for, narrowest
	// first; main is the width that fills a matrix best.
	panels []panelKernels
	main   func() int

	// fewRows is the largest number of rows in a unit that the kernels for few rows
	// do; see few.go. From memory they are always faster than panels, up to four times.
	// From L2 and L3, on Zen 4, avx512 gains up to 44 rows, a fifth on average, but for
	// those that fill a panel of 16 or 32 lanes, 2-9% faster. avx2 gains up to 6 rows;
	// up to 12 it loses 0-7% from L3, and a fifth at 8 rows from L2.
	fewRows int

	// fullRows is the least number of rows that panels do better on if they fill one and
	// meet no more than a block of keys, 0 if none is known. On Zen 4, 16 and 32 rows on
	// as many keys take avx512 5-8% less time, 8 rows more; avx2 gains from 8 on.
	fullRows int

	// threadFMAs is the work below which one more thread costs more than it
	// gains, some 20 to 40 µs: waking one takes that long.
	threadFMAs int

	// linearSteps is how many rows of Wᵀ a product of many rows by a strip of
	// weights takes at a time: its strip kernel must find them in L1, or it reads
	// them fast enough from L2.
	linearSteps int

	// halfRows, if not 0, is the most rows for which such a kernel widens weights of 16
	// bits on the way, rather than all rows once and before.
	halfRows int
}

// tiers lists all tiers of this architecture, best first. The last, generic,
// runs everywhere.
var tiers = append(archTiers(), genericTier())

// kernels returns the narrowest panel kernels for n rows, or the widest.
func (t *tier) kernels(n int) *panelKernels {
	for i := range t.panels {
		if t.panels[i].lanes >= n {
			return &t.panels[i]
		}
	}
	return t.widest()
}

// widest returns the widest panel kernels, whose vectors are the widest, too: what needs
// no panel is taken from these.
func (t *tier) widest() *panelKernels { return &t.panels[len(t.panels)-1] }

// TierInfo describes one tier of this build.
type TierInfo struct {
	Name    string
	Runs    bool   // whether this CPU can run it
	Reason  string // why it can't run
	Default bool   // whether calls that name no tier use it
}

// Tiers lists the tiers of this build, best first, and what keeps the others
// from running here.
func Tiers() []TierInfo {
	def, _ := defaultTier()
	infos := make([]TierInfo, len(tiers))
	for i := range tiers {
		t := &tiers[i]
		reason := t.lacks()
		infos[i] = TierInfo{Name: t.name, Runs: reason == "", Reason: reason, Default: t == def}
	}
	return infos
}

// tierFor returns the tier that a call with Options.Tier = name runs on.
func tierFor(name string) (*tier, error) {
	if name == "" {
		return defaultTier()
	}
	return namedTier(name, "Options.Tier")
}

// defaultTier is what chooseTier said when it was first needed.
var defaultTier = sync.OnceValues(chooseTier)

// chooseTier returns the tier that ATTN_TIER names, or else the best that runs.
func chooseTier() (*tier, error) {
	if name := os.Getenv("ATTN_TIER"); name != "" {
		return namedTier(name, "ATTN_TIER")
	}
	for i := range tiers {
		if tiers[i].lacks() == "" {
			return &tiers[i], nil
		}
	}
	panic("attn: generic runs everywhere")
}

func namedTier(name, source string) (*tier, error) {
	for i := range tiers {
		if tiers[i].name != name {
			continue
		}
		if lacks := tiers[i].lacks(); lacks != "" {
			return nil, &TierError{name, source, "cannot run: " + lacks}
		}
		return &tiers[i], nil
	}
	names := make([]string, len(tiers))
	for i := range tiers {
		names[i] = tiers[i].name
	}
	return nil, &TierError{name, source, fmt.Sprintf("unknown; this build has %s", strings.Join(names, ", "))}
}
