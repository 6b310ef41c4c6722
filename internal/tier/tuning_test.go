package tier

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
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
		for _, cpu := range cpus() {
			if _, err := tier.Tuned(entryFor(tier.Name, cpu).Tuning); err != nil {
				t.Errorf("%s on %s: %v", tier.Name, cpu, err)
			}
		}
		if entryFor(tier.Name, "none") != entryOf(tier.Name, AnyCPU) || entryFor(tier.Name, "none") == nil {
			t.Errorf("%s: no entry for any CPU", tier.Name)
		}
	}
}

// TestNumbers: each field of a Tuning has one name, and each name a field of its own.
func TestNumbers(t *testing.T) {
	var x Tuning
	names := map[string]bool{}
	for i, n := range Numbers {
		if names[n.Name] {
			t.Errorf("%s: two numbers of that name", n.Name)
		}
		names[n.Name] = true
		*n.Of(&x) += i + 1
		if got := *x.Number(n.Name); got != i+1 {
			t.Errorf("%s is %d, want %d: two names have one field", n.Name, got, i+1)
		}
	}
	if fields := reflect.ValueOf(x); fields.NumField() != len(Numbers) {
		t.Errorf("%d names, want %d, one for each field", len(Numbers), fields.NumField())
	}
	if x.Number("mainLanes") != nil {
		t.Error("there is a number mainLanes")
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
		{"SkinnyRows=3,avx2:SkinnyRows=4,neon:Nothing", func(x *Tuning) { x.SkinnyRows = 3 }},
		{"generic:SkinnyRows=3", func(x *Tuning) { x.SkinnyRows = 3 }},
		{"Zen 4,FullRows=3", func(x *Tuning) { x.FullRows = 3 }},
		{"SkinnyRows=3,any,PrefetchBytes=1", func(x *Tuning) { x.PrefetchBytes = 1 }},
	} {
		want := plain.Tuning
		x.want(&want)
		got := tune(x.changes)
		if got.Tuning != want || got.Mistuned != "" {
			t.Errorf("%s: got %+v, %q, want %+v", x.changes, got.Tuning, got.Mistuned, want)
		}
	}
	for _, bad := range []string{
		"Zen 9", "sse:SkinnyRows=3", "generic:", "SkinnyRows", "SkinnyRows=", "SkinnyRows=x", "skinnyRows=3", "SkinnyRows=3;FullRows=1", ",",
		"MainLanes=0", "MainLanes=17", "SkinnyRows=-1", "SkinnyRows=99", "FullRows=-1", "FullHalfRows=-1", "PrefetchBytes=0", "PrefetchBytes=2000000", "FarPrefetch=2", "FarPrefetch=-2",
		"ThreadFMAs=0", "WeightSteps=0", "WeightSteps=100", "WeightSteps=128000", "WidenRows=-1", "PairBytes=-1", "LowerBytes=-1", "HeadKeys=-1", "QuantizedRows=0",
	} {
		got := tune(bad)
		if got.Mistuned == "" || got.Tuning != plain.Tuning {
			t.Errorf("%q: got %+v, %q", bad, got.Tuning, got.Mistuned)
		} else if name, _, _ := strings.Cut(bad, ";"); !strings.Contains(got.Mistuned, name) {
			t.Errorf("%q: the reason does not name it: %s", bad, got.Mistuned)
		}
	}
	tier := tuned(archTiers(), "none", "QKSegments=7")
	for i := range tier {
		if mistuned := tier[i].Mistuned; (mistuned != "") != (tier[i].Variants != nil) {
			t.Errorf("%s: QKSegments=7: %q", tier[i].Name, mistuned)
		}
	}
}

// TestChoices: every width of a tile can be chosen and no other, and every choice that a tier has
// is among those listed.
func TestChoices(t *testing.T) {
	for i := range Tiers {
		tier := &Tiers[i]
		for _, n := range Numbers {
			if list, value := tier.Choices(n.Name), *n.Of(&tier.Tuning); len(list) > 0 && !slices.Contains(list, value) {
				t.Errorf("tier %s: %s is %d and may be %v", tier.Name, n.Name, value, list)
			}
		}
		widths := tier.Choices("MainLanes")
		for n := range 130 {
			_, err := tier.Changed(fmt.Sprintf("MainLanes=%d", n))
			if (err == nil) != slices.Contains(widths, n) {
				t.Errorf("tier %s: %d lanes of %v: error %v", tier.Name, n, widths, err)
			}
		}
	}
}

// TestLowerIsListed: List names the tier below at the kernels that differ in products with grouped
// weights, if some rows take that one.
func TestLowerIsListed(t *testing.T) {
	for i := range Tiers {
		of := Tiers[i].Copy()
		lower, least := of.Lower(), 0
		if lower != nil && of.Lacks() == "" {
			least = 1
		}
		for _, of.LowerRows = range []int{0, 3} {
			listed := 0
			for _, k := range of.List() {
				if k.Lower == "" {
					if least > 0 && of.LowerRows > 0 && k.ISA == of.ISAs[len(of.ISAs)-1] && k.Name == "Weights.Blocks.S6x16.Unpack" {
						t.Errorf("%s: %s does not name the tier below", of.Name, k.Name)
					}
					continue
				}
				if listed++; k.Lower != lower.Name || slices.Contains(lower.ISAs, k.ISA) {
					t.Errorf("%s: %s of %s, for few rows that of %s", of.Name, k.Name, k.ISA, k.Lower)
				}
			}
			if listed < least && of.LowerRows > 0 || listed > 0 && of.LowerRows == 0 {
				t.Errorf("%s with LowerRows=%d: %d kernels name the tier below", of.Name, of.LowerRows, listed)
			}
		}
	}
}
