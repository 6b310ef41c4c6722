package tier

import (
	"slices"
	"strings"
	"testing"
)

// TestFeatures takes CPU features away, one at a time: the kernels that need it come from another
// instruction set, or are others of the same one, or run in Go, and pass their tests.
func TestFeatures(t *testing.T) {
	before := lacks
	defer func() { lacks = before }()
	for i := range Tiers {
		if len(Tiers[i].ISAs) == 0 || Tiers[i].Lacks() != "" {
			continue
		}
		all := Tiers[i].List()
		t.Run("tier="+Tiers[i].Name, func(t *testing.T) {
			for _, feature := range features(all) {
				t.Run("feature="+feature, func(t *testing.T) {
					lacks = func(f string) bool { return f == feature || before(f) }
					tier := Tiers[i].Copy()
					for x, k := range tier.List() {
						if slices.Contains(k.Needs, feature) {
							t.Fatalf("%s is that of %s", k.Name, k.ISA)
						}
						if k.ISA != all[x].ISA || !slices.Equal(k.Needs, all[x].Needs) {
							testAlone(t, tier, k)
						}
					}
				})
			}
		})
		lacks = before
	}
}

// features returns the CPU features that some kernels need.
func features(kernels []Kernel) (list []string) {
	for _, k := range kernels {
		for _, f := range k.Needs {
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// testAlone tests a kernel of a tier that lacks a feature.
func testAlone(t *testing.T, tier *Tier, k Kernel) {
	if k.None {
		return
	}
	tile := len(tier.Widths) - 1
	if k.Lanes > 0 {
		tile = slices.Index(tier.Widths, k.Lanes)
	}
	p, name := tier.set(tile), testName(k.Name)
	if err := checkKernel(p, name, 17, newArena()); err != nil {
		t.Errorf("%s of %q for %d lanes: %v", name, k.ISA, p.Lanes, err)
	}
}

// TestProductsAreAssembly: a tier that runs, whichever feature the CPU lacks, has no product in Go:
// that would be slower than the next tier by far.
func TestProductsAreAssembly(t *testing.T) {
	before := lacks
	defer func() { lacks = before }()
	lacks = func(string) bool { return false }
	var list []Kernel
	for _, tier := range archTiers() {
		list = append(list, tier.List()...)
	}
	for _, feature := range features(list) {
		lacks = func(f string) bool { return f == feature }
		for _, tier := range archTiers() {
			if tier.Lacks() != "" {
				continue
			}
			for _, k := range tier.List() {
				if strings.HasPrefix(k.Name, "Products.") && k.ISA == "" && !k.None {
					t.Errorf("%s without %s: %s of %d lanes is in Go", tier.Name, feature, k.Name, k.Lanes)
				}
			}
		}
	}
}
