package tier

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/ukernel"
)

// Tuning are the numbers that decide about the speed of a tier, whose meaning kernel.Tier.Tuned
// says. No bit of a result depends on them. The entries for the CPUs are in tunings.go. `go run
// ./bench -tune` measures what the numbers do on the machine at hand.
type Tuning struct {
	MainLanes, SkinnyRows, FullRows, FullHalfRows, HeadKeys int
	QKSegments, QKNear, PVNear, PrefetchBytes, FarPrefetch  int
	PairBytes, ThreadFMAs                                   int
	WeightSteps, PanelPrefetch, WidenRows, QuantizedRows    int
	PairRows, UnpackRows, LowerRows, FarRows, BlockPrefetch int
	LowerBytes                                              int
}

// A Number is a number of a Tuning, by the name that kernel.Tier.Tuned and ATTN_TUNING have for it.
type Number struct {
	Name        string
	Of          func(*Tuning) *int
	least, most int // that a tier can do with, as far as that does not depend on its kernels
}

const (
	maxPrefetchBytes = 1 << 20
	maxWeightSteps   = 16 * contract.InputSegment
)

// Numbers are all of them, in the order in which kernel.Tier.Tuned describes them. Programs and
// scripts hold the names: a field may be renamed, a name may not.
var Numbers = []Number{
	{"MainLanes", func(x *Tuning) *int { return &x.MainLanes }, 1, ukernel.MaxLanes},
	{"SkinnyRows", func(x *Tuning) *int { return &x.SkinnyRows }, 0, ukernel.MaxLanes},
	{"FullRows", func(x *Tuning) *int { return &x.FullRows }, 0, math.MaxInt},
	{"FullHalfRows", func(x *Tuning) *int { return &x.FullHalfRows }, 0, math.MaxInt},
	{"HeadKeys", func(x *Tuning) *int { return &x.HeadKeys }, 0, math.MaxInt},
	{"QKSegments", func(x *Tuning) *int { return &x.QKSegments }, math.MinInt, math.MaxInt},
	{"QKNear", func(x *Tuning) *int { return &x.QKNear }, math.MinInt, math.MaxInt},
	{"PVNear", func(x *Tuning) *int { return &x.PVNear }, math.MinInt, math.MaxInt},
	{"PrefetchBytes", func(x *Tuning) *int { return &x.PrefetchBytes }, 1, maxPrefetchBytes},
	{"FarPrefetch", func(x *Tuning) *int { return &x.FarPrefetch }, -1, 1},
	{"PairBytes", func(x *Tuning) *int { return &x.PairBytes }, 0, math.MaxInt},
	{"ThreadFMAs", func(x *Tuning) *int { return &x.ThreadFMAs }, 1, math.MaxInt},
	{"WeightSteps", func(x *Tuning) *int { return &x.WeightSteps }, contract.InputSegment, maxWeightSteps},
	{"PanelPrefetch", func(x *Tuning) *int { return &x.PanelPrefetch }, math.MinInt, math.MaxInt},
	{"WidenRows", func(x *Tuning) *int { return &x.WidenRows }, 0, math.MaxInt},
	{"QuantizedRows", func(x *Tuning) *int { return &x.QuantizedRows }, 1, math.MaxInt},
	{"PairRows", func(x *Tuning) *int { return &x.PairRows }, 0, math.MaxInt},
	{"UnpackRows", func(x *Tuning) *int { return &x.UnpackRows }, 0, math.MaxInt},
	{"LowerRows", func(x *Tuning) *int { return &x.LowerRows }, 0, math.MaxInt},
	{"FarRows", func(x *Tuning) *int { return &x.FarRows }, 0, ukernel.MaxLanes},
	{"LowerBytes", func(x *Tuning) *int { return &x.LowerBytes }, 0, math.MaxInt},
	{"BlockPrefetch", func(x *Tuning) *int { return &x.BlockPrefetch }, math.MinInt, math.MaxInt},
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
	for _, n := range Numbers {
		switch v := *n.Of(x); {
		case v >= n.least && v <= n.most:
		case n.most == math.MaxInt:
			return fmt.Errorf("%s=%d: want %d or more", n.Name, v, n.least)
		default:
			return fmt.Errorf("%s=%d: want %d to %d", n.Name, v, n.least, n.most)
		}
	}
	switch lacking := t.lacksVariant(x); {
	case !slices.Contains(t.Widths, x.MainLanes):
		return fmt.Errorf("MainLanes=%d: there is no tile of that width", x.MainLanes)
	case lacking != "":
		return fmt.Errorf("QKSegments=%d,QKNear=%d,PVNear=%d,PanelPrefetch=%d,BlockPrefetch=%d: there is no kernel %s",
			x.QKSegments, x.QKNear, x.PVNear, x.PanelPrefetch, x.BlockPrefetch, lacking)
	case x.WeightSteps%contract.InputSegment != 0:
		return fmt.Errorf("WeightSteps=%d: want a multiple of %d", x.WeightSteps, contract.InputSegment)
	}
	return nil
}

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

// tuned returns the tiers with the entries for a CPU, changed as changes say. A tier that cannot do
// with the changes has the numbers of its entry, and says why: no bit depends on them, so no call
// fails.
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

// variants returns the variants of kernels that the tuning chooses, a variant of each kind. A tier
// has them or none of the kind.
func (x *Tuning) variants() []string {
	return []string{
		fmt.Sprintf("QK=S%dL%d", x.QKSegments, x.QKNear),
		fmt.Sprintf("PV=L%d", x.PVNear),
		fmt.Sprintf("Weight=P%d", x.PanelPrefetch),
		fmt.Sprintf("Block=A%d", x.BlockPrefetch),
	}
}

// Choose makes the tuning choose a variant from Tier.Variants.
func (x *Tuning) Choose(variant string) {
	fmt.Sscanf(variant, "QK=S%dL%d", &x.QKSegments, &x.QKNear)
	fmt.Sscanf(variant, "PV=L%d", &x.PVNear)
	fmt.Sscanf(variant, "Weight=P%d", &x.PanelPrefetch)
	fmt.Sscanf(variant, "Block=A%d", &x.BlockPrefetch)
}

// lacksVariant returns the first variant that x chooses and t does not have, though it has others
// of its kind; "" if there is none.
func (t *Tier) lacksVariant(x *Tuning) string {
	for _, v := range x.variants() {
		kind := v[:strings.IndexByte(v, '=')+1]
		if !slices.Contains(t.Variants, v) && slices.ContainsFunc(t.Variants, func(s string) bool { return strings.HasPrefix(s, kind) }) {
			return v
		}
	}
	return ""
}

// Choices returns the values that a number of the tier may have if it chooses between kernels, in
// ascending order. Not all combinations of such numbers need have a kernel. If the tier has one
// kernel, or the number is of another kind, there are none.
func (t *Tier) Choices(name string) (values []int) {
	if name == "MainLanes" {
		return slices.Clone(t.Widths)
	}
	x := t.Tuning
	number := x.Number(name)
	for _, v := range t.Variants {
		*number = -1 // which stays if another number chooses the variant
		x.Choose(v)
		if n := *number; n >= 0 {
			values = append(values, n)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
