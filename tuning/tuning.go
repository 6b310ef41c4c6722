package tuning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// AnyCPU is the name of CPUs that the table has no entries for.
const AnyCPU = "any"

// CPU returns the name that the CPU of this machine has in the table, such as "Zen 4", or
// [AnyCPU].
func CPU() string { return tier.HostCPU() }

// Numbers returns all numbers of a tier as [Set] takes them: "MainLanes=16,SkinnyRows=12,...".
// The default tier is "". If there is no such tier or it cannot run, the error is a
// [*kernel.Error].
func Numbers(tier string) (string, error) {
	t, err := find("tuning.Numbers", tier)
	if err != nil {
		return "", err
	}
	return format(t.Tuning), nil
}

func format(x tier.Tuning) string {
	var items []string
	for _, n := range tier.Numbers {
		items = append(items, fmt.Sprintf("%s=%d", n.Name, *n.Of(&x)))
	}
	return strings.Join(items, ",")
}

// Set changes numbers of a tier as changes say, see the package's documentation. Items for
// other tiers are left out. No other call of this module may run meanwhile.
//
// The error is a [*kernel.Error], and then no number has changed.
func Set(tier, changes string) error {
	t, err := find("tuning.Set", tier)
	if err != nil {
		return err
	}
	if err := t.Change(changes); err != nil {
		return &kernel.Error{Where: "tuning.Set: changes", Got: fmt.Sprintf("%q (%v)", changes, err), Want: "numbers that tier " + t.Name + " can do with"}
	}
	return nil
}

// Choices returns the values that a number of a tier may have if it chooses one of several
// kernels, in ascending order. Not all combinations of such numbers need have a kernel. If
// the tier has one kernel, or the number is of another kind, there are none.
//
// The error is a [*kernel.Error], or a [*kernel.Error] if there is no number of
// that name.
func Choices(tier, name string) (values []int, err error) {
	t, err := find("tuning.Choices", tier)
	if err != nil {
		return nil, err
	}
	if name == "MainLanes" {
		return slices.Clone(t.Widths), nil
	}
	x := t.Tuning
	number := x.Number(name)
	if number == nil {
		return nil, &kernel.Error{Where: "tuning.Choices: name", Got: fmt.Sprintf("%q", name), Want: "a number that package tuning lists"}
	}
	for _, v := range t.Variants {
		*number = -1 // which stays if another number chooses the variant
		x.Choose(v)
		if n := *number; n >= 0 {
			values = append(values, n)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// Ignored returns the reason why a tier ignores the environment variable ATTN_TUNING, or "" if it does not. The
// default tier is "". A tier that cannot do with a part of the variable ignores all of it, and calls go on, as no bit
// depends on these numbers. Programs that measure should stop. [attn.Report] has the reasons, too.
//
// If there is no such tier or it cannot run, the error is a [*kernel.Error].
//
// [attn.Report]: https://pkg.go.dev/github.com/attn-go/attn#Report
func Ignored(tier string) (string, error) {
	t, err := find("tuning.Ignored", tier)
	if err != nil {
		return "", err
	}
	return t.Mistuned, nil
}

// find returns the tier of that name.
func find(function, name string) (*tier.Tier, error) {
	t, f := tier.Select(name, "tier")
	if f != nil {
		return nil, (*kernel.Error)(f.In(function))
	}
	return t, nil
}
