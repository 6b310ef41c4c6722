package tier

import (
	"fmt"
	"slices"
	"strings"
)

// variants returns the variants of kernels that the tuning chooses, one of each kind. A tier has them
// or none of the kind.
func (x *Tuning) variants() []string {
	return []string{
		fmt.Sprintf("QK=S%dL%d", x.QKSegments, x.QKNear),
		fmt.Sprintf("PV=L%d", x.PVNear),
		fmt.Sprintf("Weight=P%d", x.PanelPrefetch),
	}
}

// Choose makes the tuning choose a variant, one of Tier.Variants.
func (x *Tuning) Choose(variant string) {
	fmt.Sscanf(variant, "QK=S%dL%d", &x.QKSegments, &x.QKNear)
	fmt.Sscanf(variant, "PV=L%d", &x.PVNear)
	fmt.Sscanf(variant, "Weight=P%d", &x.PanelPrefetch)
}

// lacksVariant returns the first variant that x chooses and t does not have, though it has others of
// its kind; "" if there is none.
func (t *Tier) lacksVariant(x *Tuning) string {
	for _, v := range x.variants() {
		kind := v[:strings.IndexByte(v, '=')+1]
		if !slices.Contains(t.Variants, v) && slices.ContainsFunc(t.Variants, func(s string) bool { return strings.HasPrefix(s, kind) }) {
			return v
		}
	}
	return ""
}

// Choices returns the values that a number of the tier may have if it chooses one of several kernels, in
// ascending order. Not all combinations of such numbers need have a kernel. If the tier has one kernel, or
// the number is of another kind, there are none.
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
