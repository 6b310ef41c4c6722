package tier

import (
	"fmt"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ukernel"
)

// TestChoose sets ATTN_TIER to nothing, to every tier and to an unknown name.
func TestChoose(t *testing.T) {
	t.Setenv("ATTN_TIER", "")
	best, un := choose()
	if un != nil || best.Lacks() != "" {
		t.Fatalf("the default is %v, %v", best, un)
	}
	for i := range Tiers {
		if tier := &Tiers[i]; tier.Lacks() == "" {
			if best != tier {
				t.Errorf("the default is %s, but %s runs and is better", best.Name, tier.Name)
			}
			break
		}
	}
	for i := range Tiers {
		tier := &Tiers[i]
		t.Setenv("ATTN_TIER", tier.Name)
		got, un := choose()
		switch lacks := tier.Lacks(); {
		case lacks == "" && (got != tier || un != nil):
			t.Errorf("ATTN_TIER=%s: %v, %v", tier.Name, got, un)
		case lacks != "" && (got != nil || un == nil || un.Got != fmt.Sprintf("%q, but %s", tier.Name, lacks)):
			t.Errorf("ATTN_TIER=%s: %v, %v; want it to be unavailable as %s", tier.Name, got, un, lacks)
		}
	}
	t.Setenv("ATTN_TIER", "avx9")
	got, un := choose()
	if got != nil || un == nil || un.Got != `"avx9"` || un.Where != "ATTN_TIER" || !strings.HasSuffix(un.Want, "generic") || un.Kind != check.ErrTier {
		t.Errorf("ATTN_TIER=avx9: %v, %+v", got, un)
	}
}

// TestNamed names tiers, and takes them as options do.
func TestNamed(t *testing.T) {
	generic := &Tiers[len(Tiers)-1]
	if got, un := Named("generic", "test"); un != nil || got != generic {
		t.Errorf("generic: %v, %v", got, un)
	}
	if got, un := Named("avx9", "test"); got != nil || un == nil || un.Where != "test" {
		t.Errorf("avx9: %v, %v", got, un)
	}
	if got, un := generic.Handle().Tier(); got != generic || un != nil {
		t.Errorf("the handle of generic: %v, %v", got, un)
	}
	def, _ := Default()
	if got, _ := (Handle{}).Tier(); got != def {
		t.Errorf("no tier: %v, want the default", got)
	}
}

// TestTile asks for tiles of all numbers of rows.
func TestTile(t *testing.T) {
	for i := range Tiers {
		k := &Tiers[i]
		for n := range ukernel.MaxLanes + 2 {
			lanes := k.Tile(n).Lanes
			if _, width := k.Products(n); width != lanes || k.Width(n) != lanes {
				t.Errorf("tier %s: %d lanes for %d rows, products of %d, width %d", k.Name, lanes, n, width, k.Width(n))
			}
			if lanes < n && lanes != k.Widest() {
				t.Errorf("tier %s: %d lanes for %d rows", k.Name, lanes, n)
			}
			for _, w := range k.Widths {
				if w >= n && w < lanes {
					t.Errorf("tier %s: %d lanes for %d rows, but there are tiles of %d", k.Name, lanes, n, w)
				}
			}
		}
		if wideStep%k.Narrowest() != 0 {
			t.Errorf("tier %s: the narrowest width is %d, which does not divide %d", k.Name, k.Narrowest(), wideStep)
		}
		if last := k.Widest(); last > ukernel.MaxLanes || k.Tile(k.MainLanes).Lanes != k.MainLanes {
			t.Errorf("tier %s: the main width is %d, the largest %d", k.Name, k.MainLanes, last)
		}
	}
}
