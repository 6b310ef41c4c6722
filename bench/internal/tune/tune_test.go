package tune

import (
	"reflect"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/tier"
)

// A sweep measures all candidates that fit the tier, and leaves the tier as it was.
func TestSweep(t *testing.T) {
	t0, _ := tier.Default()
	before := t0.Tuning
	var out strings.Builder
	s := Sweep{Tier: t0.Name, Groups: []string{"full"}, Rounds: 1, Out: &out}
	e, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if t0.Tuning != before {
		t.Errorf("the tier has %+v, and had %+v", t0.Tuning, before)
	}
	for _, want := range []string{"FullRows=0 ", "FullRows=16 ", Literal(&e)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if err := t0.Check(&e.Tuning); err != nil || e.Tier != t0.Name || e.CPU != tier.HostCPU() {
		t.Errorf("%+v: %v", e, err)
	}
}

// Every number is in a group, and the groups name no others.
func TestGroups(t *testing.T) {
	numbers := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[tier.Tuning]()) {
		numbers[f.Name] = true
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
	e := tier.TuningEntry{CPU: "C", Tier: "t", Source: "s", Tuning: tier.Tuning{MainLanes: 8, QKNear: 2}}
	if got, want := Literal(&e), "{\"C\", \"t\", \"s\",\n\tTuning{MainLanes: 8, QKNear: 2}},"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
