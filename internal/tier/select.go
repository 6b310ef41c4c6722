package tier

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// Tiers lists all tiers of this build, best first. The last one, generic, runs
// everywhere. Their numbers are those of this CPU, changed by the environment variable
// ATTN_TUNING, which is read once.
var Tiers = tuned(append(archTiers(), genericTier()), HostCPU(), os.Getenv("ATTN_TUNING"))

// A Handle is a tier that was chosen before a call: what the options of calls hold. The zero
// Handle is the default tier. No field of it is exported, as kernel.Tier is defined as it.
type Handle struct{ tier *Tier }

// Handle returns a handle of t, which nobody may change from now on.
func (t *Tier) Handle() Handle { return Handle{t} }

// Tier returns the tier that runs a call, or why the default one cannot be used.
func (h Handle) Tier() (*Tier, *Unavailable) {
	if h.tier != nil {
		return h.tier, nil
	}
	return Default()
}

// An Unavailable describes a tier that was asked for and cannot be used.
type Unavailable struct {
	Tier   string // the name asked for
	Source string // who asked: "TierNamed", "ATTN_TIER", ...
	Reason string
}

// Default returns the tier that the environment variable ATTN_TIER names, or else
// the best one that runs. The variable is read once.
var Default = sync.OnceValues(choose)

func choose() (*Tier, *Unavailable) {
	if name := os.Getenv("ATTN_TIER"); name != "" {
		return Named(name, "ATTN_TIER")
	}
	for i := range Tiers {
		if Tiers[i].Lacks() == "" {
			return &Tiers[i], nil
		}
	}
	panic("attn: generic runs everywhere")
}

// Named returns the tier of that name, which asks CPU features: not for every call. source says
// who asks, for the report.
func Named(name, source string) (*Tier, *Unavailable) {
	for i := range Tiers {
		t := &Tiers[i]
		if t.Name != name {
			continue
		}
		if lacks := t.Lacks(); lacks != "" {
			return nil, &Unavailable{name, source, "cannot run: " + lacks}
		}
		return t, nil
	}
	return nil, &Unavailable{name, source, fmt.Sprintf("unknown; this build has %s", strings.Join(names(), ", "))}
}

// names returns the names of all tiers.
func names() []string {
	n := make([]string, len(Tiers))
	for i := range Tiers {
		n[i] = Tiers[i].Name
	}
	return n
}
