package tuning

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// TestAnyCPU: the name is that of the table.
func TestAnyCPU(t *testing.T) {
	if AnyCPU != tier.AnyCPU {
		t.Errorf("AnyCPU is %q, want %q", AnyCPU, tier.AnyCPU)
	}
}

// numbers returns all numbers of a tier, and a function that returns one of them.
func numbers(t *testing.T, tier string) (all string, number func(name string) string) {
	t.Helper()
	all, err := Numbers(tier)
	if err != nil {
		t.Fatal(err)
	}
	return all, func(name string) string {
		_, rest, _ := strings.Cut(","+all, ","+name+"=")
		value, _, _ := strings.Cut(rest, ",")
		return value
	}
}

// TestSet: numbers change as they should, for their tier alone, and go back.
func TestSet(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			if _, err := Numbers(tier.Name); !errors.Is(err, kernel.ErrTier) {
				t.Errorf("tier %s: error %v", tier.Name, err)
			}
			continue
		}
		before, _ := numbers(t, tier.Name)
		if err := Set(tier.Name, "SkinnyRows=3,generic:FullRows=5, "+tier.Name+":PrefetchBytes=77"); err != nil {
			t.Fatal(err)
		}
		_, number := numbers(t, tier.Name)
		if got := number("SkinnyRows") + " " + number("PrefetchBytes"); got != "3 77" {
			t.Errorf("tier %s: SkinnyRows and PrefetchBytes are %s", tier.Name, got)
		}
		if (number("FullRows") == "5") != (tier.Name == "generic") {
			t.Errorf("tier %s: FullRows is %s", tier.Name, number("FullRows"))
		}
		for _, bad := range []string{"", "SkinnyRows", "SkinnyRows=x", "Rows=3", "SkinnyRows=4,MainLanes=5", "sse9:SkinnyRows=3", "Zen 0"} {
			err := Set(tier.Name, bad)
			if e, ok := errors.AsType[*kernel.Error](err); !ok || e.Where != "tuning.Set: changes" || !strings.Contains(e.Want, tier.Name) {
				t.Errorf("Set(%q): error %v", bad, err)
			}
		}
		if _, number := numbers(t, tier.Name); number("SkinnyRows") != "3" {
			t.Errorf("tier %s: an error changed SkinnyRows to %s", tier.Name, number("SkinnyRows"))
		}
		if err := Set(tier.Name, before); err != nil {
			t.Fatal(err)
		}
		if after, _ := numbers(t, tier.Name); after != before {
			t.Errorf("tier %s: %s, want %s", tier.Name, after, before)
		}
	}
	if err := Set("sse9", "SkinnyRows=3"); !errors.Is(err, kernel.ErrTier) {
		t.Errorf("tier sse9: error %v", err)
	}
}

// TestChoices: every width of a tile can be chosen and no other, and every choice that a tier
// has is among those listed.
func TestChoices(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			continue
		}
		before, number := numbers(t, tier.Name)
		for _, name := range names(before) {
			list, err := Choices(tier.Name, name)
			if err != nil {
				t.Fatal(err)
			}
			if value := number(name); len(list) > 0 && !slices.Contains(strings.Fields(strings.Trim(fmt.Sprint(list), "[]")), value) {
				t.Errorf("tier %s: %s is %s and may be %v", tier.Name, name, value, list)
			}
		}
		widths, _ := Choices(tier.Name, "MainLanes")
		for n := range 130 {
			err := Set(tier.Name, fmt.Sprintf("MainLanes=%d", n))
			if (err == nil) != slices.Contains(widths, n) {
				t.Errorf("tier %s: %d lanes of %v: error %v", tier.Name, n, widths, err)
			}
		}
		if err := Set(tier.Name, before); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Choices("", "Rows"); !errors.Is(err, kernel.ErrArgument) {
		t.Errorf("error %v", err)
	}
	if _, err := Choices("sse9", "MainLanes"); !errors.Is(err, kernel.ErrTier) {
		t.Errorf("error %v", err)
	}
}

// names returns the names of numbers.
func names(all string) (list []string) {
	for item := range strings.SplitSeq(all, ",") {
		name, _, _ := strings.Cut(item, "=")
		list = append(list, name)
	}
	return list
}

//go:embed doc.go
var documentation string

// TestDocumentation: the documentation describes all numbers, in their order, and no others.
func TestDocumentation(t *testing.T) {
	var described []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([A-Z][A-Za-z]*)  +[a-z]`).FindAllStringSubmatch(documentation, -1) {
		described = append(described, m[1])
	}
	all, _ := numbers(t, "generic")
	if want := names(all); !slices.Equal(described, want) {
		t.Errorf("described are %v, want %v", described, want)
	}
}
