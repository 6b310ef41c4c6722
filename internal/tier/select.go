package tier

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/attn-go/attn/internal/check"
)

// Tiers lists all tiers of this build, best first. The last one, generic, runs everywhere. Their
// numbers are this CPU's, changed by the environment variable ATTN_TUNING, which is read once.
var Tiers = tuned(append(archTiers(), genericTier()), HostCPU().Name, os.Getenv("ATTN_TUNING"))

// A Handle is a tier that was chosen before a call: what the options of calls hold. The zero
// Handle is the default tier. No field of it is exported, as kernel.Tier is defined as it.
type Handle struct{ tier *Tier }

// Handle returns a handle of t, which nobody may change from now on.
func (t *Tier) Handle() Handle { return Handle{t} }

// Tier returns the tier that runs a call, or why the default one cannot be used.
func (h Handle) Tier() (*Tier, *check.Failure) {
	if h.tier != nil {
		return h.tier, nil
	}
	return Default()
}

// Default returns the tier that the environment variable ATTN_TIER names, or else
// the best one that runs. The variable is read once.
var Default = sync.OnceValues(choose)

func choose() (*Tier, *check.Failure) {
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

// Named returns the tier of that name, which asks CPU features: not for every call. arg is what
// the caller knows the name as.
func Named(name, arg string) (*Tier, *check.Failure) {
	for i := range Tiers {
		if t := &Tiers[i]; t.Name == name && t.Lacks() == "" {
			return t, nil
		}
	}
	return nil, unavailable(name, arg)
}

// unavailable says why there is no tier of that name, and which there are.
func unavailable(name, arg string) *check.Failure {
	got := strconv.Quote(name)
	var run []string
	for i := range Tiers {
		switch lacks := Tiers[i].Lacks(); {
		case lacks == "":
			run = append(run, Tiers[i].Name)
		case Tiers[i].Name == name:
			got += ", but " + lacks
		}
	}
	return &check.Failure{Where: arg, Got: got, Want: "a tier that runs here: " + strings.Join(run, ", "), Kind: check.ErrTier}
}
