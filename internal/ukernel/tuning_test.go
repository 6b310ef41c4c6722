package ukernel

import (
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// TestTunings tries all entries on their tiers, also on those that do not run here.
func TestTunings(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Tunings {
		name := e.Tier + " on " + e.CPU
		if seen[name] {
			t.Errorf("%s: two entries", name)
		}
		seen[name] = true
		if e.Source == "" {
			t.Errorf("%s: no source", name)
		}
		if e.CPU != AnyCPU && !seen[e.Tier+" on "+AnyCPU] {
			t.Errorf("%s: the tier's entries do not begin with that for any CPU", name)
		}
	}
	for i := range Tiers {
		tier := Tiers[i]
		for _, cpu := range cpusOf(tier.Name) {
			if err := tier.Tune(entryOf(tier.Name, cpu).Tuning); err != nil {
				t.Errorf("%s on %s: %v", tier.Name, cpu, err)
			}
		}
		if entryFor(tier.Name, "none") != entryOf(tier.Name, AnyCPU) || entryFor(tier.Name, "none") == nil {
			t.Errorf("%s: no entry for any CPU", tier.Name)
		}
	}
}

// TestCPUNames names CPUs by their families and models.
func TestCPUNames(t *testing.T) {
	for _, x := range []struct {
		vendor        cpuid.Vendor
		family, model int
		want          string
	}{
		{cpuid.AMD, 0x17, 0x01, AnyCPU}, // Naples
		{cpuid.AMD, 0x17, 0x31, Zen2},   // Rome
		{cpuid.AMD, 0x17, 0x71, Zen2},   // Matisse
		{cpuid.AMD, 0x19, 0x01, Zen3},   // Milan
		{cpuid.AMD, 0x19, 0x50, Zen3},   // Cezanne
		{cpuid.AMD, 0x19, 0x11, Zen4},   // Genoa
		{cpuid.AMD, 0x19, 0x61, Zen4},   // Raphael
		{cpuid.AMD, 0x1a, 0x02, Zen5},   // Turin
		{cpuid.Intel, 6, 0x3f, AnyCPU},  // Haswell
		{cpuid.Intel, 6, 0x55, SkylakeX},
		{cpuid.Intel, 6, 0x6a, SkylakeX}, // Ice Lake
		{cpuid.Intel, 6, 0xcf, SapphireRapids},
		{cpuid.Intel, 6, 0x97, AlderLake},
		{cpuid.Intel, 15, 0x97, AnyCPU},
		{cpuid.ARM, 0x3f, 0xd0c1, NeoverseN1},
		{cpuid.ARM, 0x1f, 0xd401, NeoverseV1},
		{cpuid.ARM, 0x0f, 0xd4f0, NeoverseV2},
		{cpuid.ARM, 0x0f, 0xd030, AnyCPU}, // Cortex-A53
		{cpuid.VendorUnknown, 0, 0, AnyCPU},
	} {
		if got := cpuName(x.vendor, x.family, x.model); got != x.want {
			t.Errorf("%v, family %#x, model %#x: got %s, want %s", x.vendor, x.family, x.model, got, x.want)
		}
	}
}

// TestOverride gives ATTN_TUNING good and bad values.
func TestOverride(t *testing.T) {
	tune := func(changes string) *Tier { return &tuned([]Tier{genericTier()}, "none", changes)[0] }
	plain := tune("")
	for _, x := range []struct {
		changes string
		want    func(x *Tuning)
	}{
		{"SkinnyRows=3", func(x *Tuning) { x.SkinnyRows = 3 }},
		{"SkinnyRows=3, WeightSteps=256", func(x *Tuning) { x.SkinnyRows, x.WeightSteps = 3, 256 }},
		{"SkinnyRows=3,any,PrefetchBytes=1", func(x *Tuning) { x.PrefetchBytes = 1 }},
	} {
		want := plain.Tuning
		x.want(&want)
		got := tune(x.changes)
		if tier, un := got.usable(); got.Tuning != want || tier != got || un != nil {
			t.Errorf("%s: got %+v, %v, want %+v", x.changes, got.Tuning, un, want)
		}
	}
	for _, bad := range []string{
		"Zen 9", "SkinnyRows", "SkinnyRows=", "SkinnyRows=x", "skinnyRows=3", "SkinnyRows=3;FullRows=1", ",",
		"MainLanes=0", "MainLanes=17", "SkinnyRows=-1", "SkinnyRows=99", "FullRows=-1", "PrefetchBytes=0", "PrefetchBytes=2000000",
		"ThreadFMAs=0", "WeightSteps=0", "WeightSteps=100", "WeightSteps=128000", "WidenRows=-1", "QuantizedRows=0",
	} {
		got := tune(bad)
		if tier, un := got.usable(); tier != nil || un == nil || un.Source != "ATTN_TUNING" || un.Tier != "generic" || got.Tuning != plain.Tuning {
			t.Errorf("%q: got %v, %+v", bad, tier, un)
		} else if name, _, _ := strings.Cut(bad, ";"); !strings.Contains(un.Reason, name) {
			t.Errorf("%q: the reason does not name it: %s", bad, un.Reason)
		}
	}
	tier := tuned(archTiers(), "none", "QKKeys=7")
	for i := range tier {
		if _, un := tier[i].usable(); (un != nil) != (tier[i].Variants.QK != nil) {
			t.Errorf("%s: QKKeys=7: %v", tier[i].Name, un)
		}
	}
}
