package kernel_test

import (
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// TestTierNamed: every tier of this build is found by its name or reported with what it lacks, and
// a name of none is an error that lists them.
func TestTierNamed(t *testing.T) {
	var runs []kernel.Tier
	for _, x := range tier.Tiers {
		got, err := kernel.TierNamed(x.Name)
		if lacks := x.Lacks(); lacks != "" {
			if e, ok := testutil.AsType[*kernel.Error](err); !ok || e.Kind != kernel.ErrTier || e.Where != "kernel.TierNamed: name" || e.Got != strconv.Quote(x.Name)+", but "+lacks {
				t.Errorf("tier %s: error %v, want one about %s", x.Name, err, lacks)
			}
			continue
		}
		if err != nil || got.String() != x.Name {
			t.Errorf("tier %s: %v, %v", x.Name, got, err)
		}
		runs = append(runs, got)
	}
	if got := kernel.Tiers(); !slices.Equal(got, runs) || got[len(got)-1] != contracttest.Generic() {
		t.Errorf("tiers %v, want %v", got, runs)
	}
	_, err := kernel.TierNamed("sse9")
	if e, ok := testutil.AsType[*kernel.Error](err); !ok || e.Kind != kernel.ErrTier || e.Got != `"sse9"` || !strings.HasSuffix(e.Want, "generic") {
		t.Errorf("unknown tier: error %v", err)
	}
}

// TestDefaultTier: the default is the best tier that runs, or what ATTN_TIER says, and the
// variable is read once.
func TestDefaultTier(t *testing.T) {
	want := os.Getenv("ATTN_TIER")
	if want == "" {
		want = kernel.Tiers()[0].String()
	}
	for _, value := range []string{want, "changed later"} {
		t.Setenv("ATTN_TIER", value)
		named, err := kernel.TierNamed("")
		if err != nil || named.String() != want || (kernel.Tier{}).String() != want {
			t.Errorf("the defaults are %v and %v, want %s: %v", named, kernel.Tier{}, want, err)
		}
		out, q, k, v := good()
		if err := kernel.Attention(out, q, k, v, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestCallsUseDefaultTier: a call without a tier runs on the default one.
func TestCallsUseDefaultTier(t *testing.T) {
	calls := 0
	counting := contracttest.Tier(t, contracttest.Generic())
	counting.Amend = func(table any, _ int) {
		if p, ok := table.(*ukernel.Products); ok {
			gemm := p.GemmMax
			p.GemmMax = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
				calls++
				gemm(c, ldc, a, rs, cs, b, ldb, m, k, seg, max)
			}
		}
	}
	contracttest.SetDefault(t, counting, nil)
	out, q, k, v := good()
	for _, x := range []struct {
		tier kernel.Tier
		used bool
	}{{kernel.Tier{}, true}, {contracttest.Generic(), false}} {
		calls = 0
		if err := kernel.Attention(out, q, k, v, &kernel.Options{Exec: kernel.Exec{Tier: x.tier, Threads: 1}}); err != nil {
			t.Fatal(err)
		}
		if used := calls > 0; used != x.used {
			t.Errorf("used %v, want %v", used, x.used)
		}
	}
}

// number returns a number of a tier.
func number(x kernel.Tier, name string) string {
	_, rest, _ := strings.Cut(","+x.Tuning(), ","+name+"=")
	value, _, _ := strings.Cut(rest, ",")
	return value
}

// TestTuned: numbers change in the new tier alone, those for other tiers are left out, and a bad
// item is an error.
func TestTuned(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, x kernel.Tier) {
		before, own := x.Tuning(), x.String()+":"
		if !slices.Contains([]string{"generic", "avx2", "avx512", "neon", "rvv"}, x.String()) {
			own = "" // a tier of tests, whose name items cannot have
		}
		tuned, err := x.Tuned("SkinnyRows=3,generic:FullRows=5, " + own + "PrefetchBytes=77")
		if err != nil {
			t.Fatal(err)
		}
		if got := number(tuned, "SkinnyRows") + " " + number(tuned, "PrefetchBytes"); got != "3 77" {
			t.Errorf("SkinnyRows and PrefetchBytes are %s", got)
		}
		if (number(tuned, "FullRows") == "5") != (x == contracttest.Generic()) {
			t.Errorf("FullRows is %s", number(tuned, "FullRows"))
		}
		if tuned == x || tuned.String() != x.String() || x.Tuning() != before {
			t.Errorf("%v has now %s, and had %s", x, x.Tuning(), before)
		}
		if back, err := tuned.Tuned(before); err != nil || back.Tuning() != before {
			t.Errorf("%s, want %s: %v", back.Tuning(), before, err)
		}
		for _, bad := range []string{"", "SkinnyRows", "SkinnyRows=x", "Rows=3", "SkinnyRows=4,MainLanes=5", "sse9:SkinnyRows=3", "Zen 0"} {
			got, err := x.Tuned(bad)
			if e, ok := testutil.AsType[*kernel.Error](err); !ok || e.Where != "kernel.Tier.Tuned: changes" || !strings.Contains(e.Want, x.String()) || got != (kernel.Tier{}) {
				t.Errorf("Tuned(%q): %v, error %v", bad, got, err)
			}
		}
	})
}

//go:embed tier.go
var tierSource string

// TestTuningDocumentation: the documentation describes all numbers, in their order, and no others.
func TestTuningDocumentation(t *testing.T) {
	var described, want []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([A-Z][A-Za-z]*)  +[a-z]`).FindAllStringSubmatch(tierSource, -1) {
		described = append(described, m[1])
	}
	for item := range strings.SplitSeq(contracttest.Generic().Tuning(), ",") {
		name, _, _ := strings.Cut(item, "=")
		want = append(want, name)
	}
	if !slices.Equal(described, want) {
		t.Errorf("described are %v, want %v", described, want)
	}
}
