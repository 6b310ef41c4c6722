package tier

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/attn-go/attn/internal/check"
)

// Tiers lists all tiers of this build, best first. The last one, generic, runs
// everywhere. Their numbers are those of this CPU, changed by the environment variable
// ATTN_TUNING, which is read once.
var Tiers = tuned(append(archTiers(), genericTier()), HostCPU(), os.Getenv("ATTN_TUNING"))

// Select returns the tier of that name, or the default tier for "". arg is what the caller
// knows the name as: "Options.Tier", ...
func Select(name, arg string) (*Tier, *check.Failure) {
	if name == "" {
		return Default()
	}
	return named(name, arg)
}

// Default returns the tier that the environment variable ATTN_TIER names, or else
// the best one that runs. The variable is read once.
var Default = sync.OnceValues(choose)

func choose() (*Tier, *check.Failure) {
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

func named(name, arg string) (*Tier, *check.Failure) {
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
	return &check.Failure{Where: arg, Got: got, Want: "a tier that runs here: " + strings.Join(run, ", "), Kind: check.Tier}
}
