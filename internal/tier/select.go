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

// An Unavailable describes a tier that was asked for and cannot be used.
type Unavailable struct {
	Tier   string // the name asked for
	Source string // who asked: "Options.Tier", "ATTN_TIER", ...
	Reason string
}

// Select returns the tier of that name, or the default tier for "". source names
// the option that holds the name, for the report.
func Select(name, source string) (*Tier, *Unavailable) {
	if name == "" {
		return Default()
	}
	return named(name, source)
}

// Default returns the tier that the environment variable ATTN_TIER names, or else
// the best one that runs. The variable is read once.
var Default = sync.OnceValues(choose)

func choose() (*Tier, *Unavailable) {
	if name := os.Getenv("ATTN_TIER"); name != "" {
		return named(name, "ATTN_TIER")
	}
	for i := range Tiers {
		if Tiers[i].Lacks() == "" {
			return &Tiers[i], nil
		}
	}
	panic("attn: generic runs everywhere")
}

func named(name, source string) (*Tier, *Unavailable) {
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
