// Package tier chooses the micro-kernels: which instruction sets run on this CPU, which kernels a
// tier has of them, and the numbers that decide about their speed.
//
// A [Tier] is package fallback, the reference, on which the kernels of one or more instruction sets
// are laid. So a tier need not have all kernels in assembly, and a kernel that needs a CPU feature
// of its own is used where the feature is. Products of few rows may take the kernels of the tier
// below, see [Tier.Lower]. Nothing is silent: [Tier.List] says what runs where.
package tier

import "slices"

// A Tier is one implementation of the micro-kernels.
type Tier struct {
	Name string

	// Lacks returns what this CPU lacks to run the tier, "" if nothing.
	Lacks func() string

	// ISAs are the instruction sets whose kernels the tier has, each laid on those before it.
	ISAs []string

	// Widths are the numbers of lanes of its query tiles, narrowest first, which divides 16.
	Widths []int

	// Variants are the kernels that the tier has several of, see ukernel.Override.Variant.
	Variants []string

	// Amend, if not nil, may change a table that was put together, given a pointer to it and the
	// width of the query tile, 0 for tables without. It is for tests.
	Amend func(table any, lanes int)

	Tuning

	Mistuned string // why the tier ignores ATTN_TUNING, "" if it does not

	tables *tables
}

// Narrowest and Widest are the numbers of lanes of the narrowest and the widest query tile.
func (t *Tier) Narrowest() int { return t.Widths[0] }
func (t *Tier) Widest() int    { return t.Widths[len(t.Widths)-1] }

// Width returns the number of lanes of the narrowest tile with at least n lanes, or of the widest.
func (t *Tier) Width(n int) int {
	for _, w := range t.Widths {
		if w >= n {
			return w
		}
	}
	return t.Widest()
}

// Copy returns a copy of t, to be changed and renamed, that puts its tables together anew.
func (t *Tier) Copy() *Tier {
	c := *t
	c.Widths, c.tables = slices.Clone(t.Widths), new(tables)
	return &c
}

// Lower returns the tier on whose kernels t lays its own last ones, nil if there is none. Products
// with up to LowerRows rows take its kernels, and with them its WeightSteps, QuantizedRows and
// UnpackRows. Few queries take its kernel for scores of float32 keys if keys and values have more
// than LowerBytes bytes. A tier with Amend has
// none: its tables are what the test means.
//
// Tiers that tests add may have the same instruction sets. Lower returns the first one, so they
// stand behind the one that they copy.
func (t *Tier) Lower() *Tier {
	n := len(t.ISAs)
	if n < 2 || t.Amend != nil {
		return nil
	}
	for i := range Tiers {
		if slices.Equal(Tiers[i].ISAs, t.ISAs[:n-1]) {
			return &Tiers[i]
		}
	}
	return nil
}

// Reference returns the tier in plain Go.
func Reference() *Tier { return &inGo }

var inGo = tuned([]Tier{genericTier()}, AnyCPU, "")[0]

// genericTier is plain Go. It runs everywhere and defines the results that the other tiers must
// equal.
func genericTier() Tier {
	return Tier{Name: "generic", Lacks: func() string { return "" }, Widths: []int{8}, tables: new(tables)}
}
