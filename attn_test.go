package attn_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// TestReport: the report has one line for each tier of this build, best first, which says whether
// it runs and why not, and the number of threads.
func TestReport(t *testing.T) {
	threads := runtime.GOMAXPROCS(3)
	report := attn.Report()
	runtime.GOMAXPROCS(threads)
	if !strings.Contains(report, "threads  3\n") {
		t.Errorf("no 3 threads in\n%s", report)
	}
	if unit := tier.TileUnit(); unit != "" && !strings.Contains(report, "\ntiles    "+unit+"\n") {
		t.Errorf("no %q in\n%s", unit, report)
	}
	_, report, _ = strings.Cut(report, "\ntier")
	lines := strings.Split(strings.TrimSpace("tier"+report), "\n")
	if len(lines) != len(tier.Tiers) {
		t.Fatalf("%d lines, want %d, one for each tier: %q", len(lines), len(tier.Tiers), lines)
	}
	for i, x := range tier.Tiers {
		want := ": runs"
		if lacks := x.Lacks(); lacks != "" {
			want = ": " + lacks
		} else if (kernel.Tier{}).String() == x.Name {
			want += ", the default"
		}
		if want = "tier     " + x.Name + want; lines[i] != want {
			t.Errorf("got %q, want %q", lines[i], want)
		}
	}
}

// TestReportOfSpin: a bad ATTN_SPIN is named. It runs itself as another process with that
// environment.
func TestReportOfSpin(t *testing.T) {
	if os.Getenv("ATTN_SPIN") != "soon" {
		test := exec.Command(os.Args[0], "-test.run=^TestReportOfSpin$")
		test.Env = append(os.Environ(), "ATTN_SPIN=soon")
		if text, err := test.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if strings.Contains(attn.Report(), "ignored") {
			t.Errorf("without ATTN_SPIN:\n%s", attn.Report())
		}
		return
	}
	if report := attn.Report(); !strings.Contains(report, "ignored  ATTN_SPIN=\"soon\"") {
		t.Error(report)
	}
}

// TestReportOfTuning: a bad ATTN_TUNING is named, for the tiers that ignore it alone, and fails no
// call. It runs itself as another process with that environment.
func TestReportOfTuning(t *testing.T) {
	const bad = "generic:SkinnyRows=-1"
	if os.Getenv("ATTN_TUNING") != bad {
		test := exec.Command(os.Args[0], "-test.run=^TestReportOfTuning$")
		test.Env = append(os.Environ(), "ATTN_TUNING="+bad)
		if text, err := test.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return
	}
	if report := attn.Report(); strings.Count(report, "ignored") != 1 || !strings.Contains(report, "ignored  ATTN_TUNING for generic: SkinnyRows=-1: want 0 to ") {
		t.Error(report)
	}
	x := kernel.BHLD([]float32{1}, 1, 1, 1, 1)
	if err := kernel.Attention(kernel.BHLD(make([]float32, 1), 1, 1, 1, 1), x, x, x, &kernel.Options{Exec: kernel.Exec{Tier: kernel.Tiers()[0]}}); err != nil {
		t.Error(err)
	}
}

// TestReportOfFeatures: features that are switched off are named, as is a bad value, and no kernel
// has them. It runs itself as other processes with that environment.
func TestReportOfFeatures(t *testing.T) {
	value, inside := os.LookupEnv("ATTN_FEATURES")
	if !inside {
		for _, value := range []string{"avx2=off,asimd=off,v=off", "avx2=off", "asimd=off", "v=off"} {
			test := exec.Command(os.Args[0], "-test.run=^TestReportOfFeatures$")
			test.Env = append(os.Environ(), "ATTN_FEATURES="+value)
			if text, err := test.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", value, err, text)
			}
		}
		return
	}
	report := attn.Report()
	if tier.BadFeatures != "" {
		if !strings.Contains(report, "ignored  ATTN_FEATURES: ") || strings.Contains(report, "off      ") {
			t.Error(report)
		}
		return
	}
	name, _, _ := strings.Cut(strings.ToUpper(value), "=")
	if !strings.Contains(report, "off      "+name+", by ATTN_FEATURES\n") {
		t.Error(report)
	}
	of := map[string][]string{"AVX2": {"avx2", "avx512"}, "V": {"rvv"}}[name] // arm64 always has ASIMD
	for _, x := range tier.Tiers {
		if slices.Contains(of, x.Name) && x.Lacks() == "" {
			t.Errorf("%s runs in spite of %s", x.Name, value)
		}
	}
}

// The first line of a report is the same on every machine.
func ExampleReport() {
	first, _, _ := strings.Cut(attn.Report(), "\n")
	fmt.Println(first)
	// Output: contract 4
}
