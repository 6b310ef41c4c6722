package tune

import (
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// A sweep measures all candidates that fit the tier.
func TestSweep(t *testing.T) {
	tiers := kernel.Tiers()
	var out strings.Builder
	s := Sweep{Tier: tiers[0], Groups: []string{"full"}, Rounds: 1, Out: &out}
	e, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FullRows=0 ", "FullRows=16 ", e.Literal()} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if x, err := tiers[0].Tuned(e.Numbers); err != nil || x.Tuning() != e.Numbers || e.Tier != tiers[0].String() || e.CPU != tier.HostCPU().Name {
		t.Errorf("%+v: %v", e, err)
	}
}

// Every group has candidates that a tier can do with, whatever tier has several of its kernels.
func TestCandidates(t *testing.T) {
	several, chosen := map[string]bool{}, map[string]bool{}
	for _, x := range kernel.Tiers() {
		inside, _ := tier.Handle(x).Tier()
		for _, g := range groups {
			all := candidates(&g, x)
			if all[0] != x {
				t.Errorf("tier %s, group %s: %v", x, g.name, all)
			}
			several[g.name] = several[g.name] || len(all) > 1
			chosen[g.name] = chosen[g.name] || len(inside.Choices(g.fields[0])) > 1
		}
	}
	for _, g := range groups {
		if chosen[g.name] && !several[g.name] {
			t.Errorf("group %s has no candidates", g.name)
		}
	}
}

// The combinations of choices have a value of each number that chooses.
func TestChoices(t *testing.T) {
	for i := range tier.Tiers {
		x := &tier.Tiers[i]
		n := 1
		fields := []string{"PVNear", "SkinnyRows", "QKSegments"}
		for _, f := range fields {
			n *= max(len(x.Choices(f)), 1)
		}
		changes := choices(fields...)(x)
		if max(len(changes), 1) != n || len(slices.Compact(slices.Sorted(slices.Values(changes)))) != len(changes) {
			t.Errorf("tier %s: %d combinations %v", x.Name, n, changes)
		}
	}
}

// Every number is in a group, and the groups name no others.
func TestGroups(t *testing.T) {
	numbers := map[string]bool{}
	for item := range strings.SplitSeq(kernel.Tiers()[0].Tuning(), ",") {
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
