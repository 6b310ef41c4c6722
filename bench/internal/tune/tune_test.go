package tune

import (
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/tuning"
)

// A sweep measures all candidates that fit the tier, and leaves the tier as it was.
func TestSweep(t *testing.T) {
	tiers := kernel.Tiers()
	tier := tiers[slices.IndexFunc(tiers, func(t kernel.TierInfo) bool { return t.Default })].Name
	before := numbersOf(t, tier)
	var out strings.Builder
	s := Sweep{Tier: tier, Groups: []string{"full"}, Rounds: 1, Out: &out}
	e, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after := numbersOf(t, tier); after != before {
		t.Errorf("the tier has %s, and had %s", after, before)
	}
	for _, want := range []string{"FullRows=0 ", "FullRows=16 ", e.Literal()} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if err := tuning.Set(tier, e.Numbers); err != nil || e.Tier != tier || e.CPU != tuning.CPU() {
		t.Errorf("%+v: %v", e, err)
	}
	if err := tuning.Set(tier, before); err != nil {
		t.Fatal(err)
	}
}

func numbersOf(t *testing.T, tier string) string {
	t.Helper()
	x, err := tuning.Numbers(tier)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Every group has candidates that a tier can do with, whatever tier has several of its kernels,
// and looking for them leaves the numbers as they are.
func TestCandidates(t *testing.T) {
	several := map[string]bool{}
	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			continue
		}
		before := numbersOf(t, tier.Name)
		for _, g := range groups {
			s := Sweep{Tier: tier.Name}
			all, err := s.candidates(&g)
			if err != nil || all[0] != before || numbersOf(t, tier.Name) != before {
				t.Errorf("tier %s, group %s: %v, error %v", tier.Name, g.name, all, err)
			}
			several[g.name] = several[g.name] || len(all) > 1
		}
	}
	for _, g := range groups {
		if list, _ := tuning.Choices("", g.fields[0]); !several[g.name] && len(list) > 1 {
			t.Errorf("group %s has no candidates", g.name)
		}
	}
}

// The combinations of choices have a value of each number that chooses.
func TestChoices(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			continue
		}
		n := 1
		fields := []string{"PVNear", "SkinnyRows", "QKSegments"}
		for _, f := range fields {
			list, err := tuning.Choices(tier.Name, f)
			if err != nil {
				t.Fatal(err)
			}
			n *= max(len(list), 1)
		}
		changes, err := choices(fields...)(tier.Name)
		if err != nil || max(len(changes), 1) != n || len(slices.Compact(slices.Sorted(slices.Values(changes)))) != len(changes) {
			t.Errorf("tier %s: %d combinations %v, error %v", tier.Name, n, changes, err)
		}
	}
}

// Every number is in a group, and the groups name no others.
func TestGroups(t *testing.T) {
	numbers := map[string]bool{}
	for item := range strings.SplitSeq(numbersOf(t, "generic"), ",") {
		name, _, _ := strings.Cut(item, "=")
		numbers[name] = true
	}
	for _, g := range groups {
		for _, f := range g.fields {
			if !numbers[f] {
				t.Errorf("group %s: %s is no number, or in two groups", g.name, f)
			}
			delete(numbers, f)
		}
	}
	if len(numbers) > 0 {
		t.Errorf("in no group: %v", numbers)
	}
}

// The entry of a CPU is written as it stands in tunings.go.
func TestLiteral(t *testing.T) {
	e := Entry{CPU: "C", Tier: "t", Source: "s", Numbers: "MainLanes=8,SkinnyRows=0,QKNear=2"}
	if got, want := e.Literal(), "{\"C\", \"t\", \"s\",\n\tTuning{MainLanes: 8, QKNear: 2}},"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
