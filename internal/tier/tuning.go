package tier

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/ukernel"
)

// Tuning are the numbers that decide about the speed of a tier. No bit of a result depends on
// them. The entries for the CPUs are in tunings.go. `go run ./bench -tune` measures what the
// numbers do on the machine at hand.
type Tuning struct {
	// MainLanes is the width of the query tile that is fastest if there are rows enough
	// to fill it.
	MainLanes int

	// SkinnyRows is the largest number of rows of a KV head for which the skinny
	// kernels are used. From memory they are always faster than tiles, up to four
	// times.
	SkinnyRows int

	// FullRows is the least number of rows for which a tile is faster than the skinny
	// kernels if they fill it and there is at most one block of keys; 0 if none is
	// known. FullHalfRows is the same for keys of 16 bits, which tiles widen in memory.
	FullRows, FullHalfRows int

	// HeadKeys, if not 0, is the largest number of keys for which HeadValues is faster than a
	// product and Unpack if V has ColumnSegment columns. The engine knows what holds for others.
	HeadKeys int

	// QKSegments is the number of segments of columns that QK of float32 takes at a time, for up
	// to 4 queries. More are more chains of FMAs at a time, for which fast units wait.
	QKSegments int

	// QKNear and PVNear are the levels of the cache into which rows of float32 are prefetched
	// that are needed soon. Those after them go to level 2.
	QKNear, PVNear int

	// PrefetchBytes is how far ahead K and V are prefetched. With FarPrefetch = 1 those once more as
	// far ahead are, too, into level 2 of the cache. With -1 those half as far ahead are, a second time,
	// for CPUs that drop prefetches while their buffers for outstanding lines are in use.
	PrefetchBytes, FarPrefetch int

	// PairBytes, if not 0, is the size of the keys and values of a KV head above which the backward
	// pass takes two segments of rows at a time.
	PairBytes int

	// ThreadFMAs is the number of FMAs that take so long, some 20 to 40 µs, that with less
	// work per thread one more thread makes a call slower.
	ThreadFMAs int

	// WeightSteps is the number of rows of Wᵀ that a product of many rows with a packed
	// panel takes at a time: so many stay in L1, or the kernel reads them fast enough
	// from L2. It is a multiple of InputSegment.
	WeightSteps int

	// PanelPrefetch tells the kernels apart that multiply with a packed panel of weights, on tiers
	// with several. With 0, register tiles of many rows prefetch it. With 1 all do, unless they
	// have a single row and float32, and several tiles prefetch the next part, too.
	PanelPrefetch int

	// WidenRows, if not 0, is the largest number of rows for which 16-bit weights are
	// widened in registers. For more rows they are widened once, before the product.
	WidenRows int

	// QuantizedRows is the largest number of rows for which quantized weights are widened in
	// registers. For more rows they are widened once.
	QuantizedRows int
}

// A Number is one of a Tuning, by the name that kernel.Tier.Tuned and ATTN_TUNING have for it.
type Number struct {
	Name string
	Of   func(*Tuning) *int
}

// Numbers are all of them, in the order in which kernel.Tier.Tuned describes them. Programs and scripts hold the
// names: a field may be renamed, a name may not.
var Numbers = []Number{
	{"MainLanes", func(x *Tuning) *int { return &x.MainLanes }},
	{"SkinnyRows", func(x *Tuning) *int { return &x.SkinnyRows }},
	{"FullRows", func(x *Tuning) *int { return &x.FullRows }},
	{"FullHalfRows", func(x *Tuning) *int { return &x.FullHalfRows }},
	{"HeadKeys", func(x *Tuning) *int { return &x.HeadKeys }},
	{"QKSegments", func(x *Tuning) *int { return &x.QKSegments }},
	{"QKNear", func(x *Tuning) *int { return &x.QKNear }},
	{"PVNear", func(x *Tuning) *int { return &x.PVNear }},
	{"PrefetchBytes", func(x *Tuning) *int { return &x.PrefetchBytes }},
	{"FarPrefetch", func(x *Tuning) *int { return &x.FarPrefetch }},
	{"PairBytes", func(x *Tuning) *int { return &x.PairBytes }},
	{"ThreadFMAs", func(x *Tuning) *int { return &x.ThreadFMAs }},
	{"WeightSteps", func(x *Tuning) *int { return &x.WeightSteps }},
	{"PanelPrefetch", func(x *Tuning) *int { return &x.PanelPrefetch }},
	{"WidenRows", func(x *Tuning) *int { return &x.WidenRows }},
	{"QuantizedRows", func(x *Tuning) *int { return &x.QuantizedRows }},
}

// Number returns the number of that name, nil if there is none.
func (t *Tuning) Number(name string) *int {
	for _, n := range Numbers {
		if n.Name == name {
			return n.Of(t)
		}
	}
	return nil
}

// String returns all numbers as Changed takes them: "MainLanes=16,SkinnyRows=12,...".
func (x Tuning) String() string {
	var items []string
	for _, n := range Numbers {
		items = append(items, fmt.Sprintf("%s=%d", n.Name, *n.Of(&x)))
	}
	return strings.Join(items, ",")
}

// Tuned returns a tier that differs from t in its numbers and in the kernels that they choose. The
// error says why the tier cannot do with them.
func (t *Tier) Tuned(x Tuning) (*Tier, error) {
	if err := t.Check(&x); err != nil {
		return nil, err
	}
	c := t.Copy()
	c.Tuning = x
	return c, nil
}

// Changed is Tuned with the numbers of t as changes say, see override.
func (t *Tier) Changed(changes string) (*Tier, error) {
	x, err := t.override(t.Tuning, changes)
	if err != nil {
		return nil, err
	}
	return t.Tuned(x)
}

// Check returns why the tier cannot do with x, nil if it can.
func (t *Tier) Check(x *Tuning) error {
	switch {
	case !slices.Contains(t.Widths, x.MainLanes):
		return fmt.Errorf("MainLanes=%d: there is no tile of that width", x.MainLanes)
	case x.SkinnyRows < 0 || x.SkinnyRows > ukernel.MaxLanes:
		return fmt.Errorf("SkinnyRows=%d: want 0 to %d", x.SkinnyRows, ukernel.MaxLanes)
	case x.FullRows < 0:
		return fmt.Errorf("FullRows=%d: want 0 or more", x.FullRows)
	case x.FullHalfRows < 0:
		return fmt.Errorf("FullHalfRows=%d: want 0 or more", x.FullHalfRows)
	case x.HeadKeys < 0:
		return fmt.Errorf("HeadKeys=%d: want 0 or more", x.HeadKeys)
	case t.lacksVariant(x) != "":
		return fmt.Errorf("QKSegments=%d,QKNear=%d,PVNear=%d,PanelPrefetch=%d: there is no kernel %s",
			x.QKSegments, x.QKNear, x.PVNear, x.PanelPrefetch, t.lacksVariant(x))
	case x.PrefetchBytes < 1 || x.PrefetchBytes > maxPrefetchBytes:
		return fmt.Errorf("PrefetchBytes=%d: want 1 to %d", x.PrefetchBytes, maxPrefetchBytes)
	case x.FarPrefetch < -1 || x.FarPrefetch > 1:
		return fmt.Errorf("FarPrefetch=%d: want -1, 0 or 1", x.FarPrefetch)
	case x.PairBytes < 0:
		return fmt.Errorf("PairBytes=%d: want 0 or more", x.PairBytes)
	case x.ThreadFMAs < 1:
		return fmt.Errorf("ThreadFMAs=%d: want 1 or more", x.ThreadFMAs)
	case x.WeightSteps < contract.InputSegment || x.WeightSteps%contract.InputSegment != 0 || x.WeightSteps > maxWeightSteps:
		return fmt.Errorf("WeightSteps=%d: want a multiple of %d up to %d", x.WeightSteps, contract.InputSegment, maxWeightSteps)
	case x.WidenRows < 0:
		return fmt.Errorf("WidenRows=%d: want 0 or more", x.WidenRows)
	case x.QuantizedRows < 1:
		return fmt.Errorf("QuantizedRows=%d: want 1 or more", x.QuantizedRows)
	}
	return nil
}

const (
	maxPrefetchBytes = 1 << 20
	maxWeightSteps   = 16 * contract.InputSegment
)

// override returns x as changes say, the value of ATTN_TUNING: items with commas between them,
// of which each is the name of a CPU, for its entry, or NAME=NUMBER. An item of the form
// TIER:ITEM is for that tier, others are for all.
func (t *Tier) override(x Tuning, changes string) (Tuning, error) {
	for item := range strings.SplitSeq(changes, ",") {
		what := strings.TrimSpace(item)
		if tier, rest, isForOne := strings.Cut(what, ":"); isForOne {
			if entryOf(tier, AnyCPU) == nil {
				return x, fmt.Errorf("%q: there is no such tier", item)
			}
			if tier != t.Name {
				continue
			}
			what = rest
		}
		name, value, isNumber := strings.Cut(what, "=")
		if !isNumber {
			if cpus := cpus(); !slices.Contains(cpus, name) {
				return x, fmt.Errorf("%q: neither NAME=NUMBER nor one of the CPUs %s", item, strings.Join(cpus, ", "))
			}
			x = entryFor(t.Name, name).Tuning
			continue
		}
		number := x.Number(name)
		if number == nil {
			return x, fmt.Errorf("%q: want a number that kernel.Tier.Tuned lists", item)
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return x, fmt.Errorf("%q: want a number", item)
		}
		*number = n
	}
	return x, nil
}

// tuned returns the tiers with the entries for a CPU, changed as changes say. A tier that cannot do with
// the changes has the numbers of its entry, and says why: no bit depends on them, so no call fails.
func tuned(tiers []Tier, cpu, changes string) []Tier {
	for i := range tiers {
		t := &tiers[i]
		t.fitWidths()
		t.Tuning = entryFor(t.Name, cpu).Tuning
		if err := t.Check(&t.Tuning); err != nil {
			panic("attn: " + t.Name + ": " + err.Error()) // TestTunings tries all entries
		}
		if changes == "" {
			continue
		}
		if changed, err := t.Changed(changes); err != nil {
			t.Mistuned = err.Error()
		} else {
			*t = *changed
		}
	}
	return tiers
}
