package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A result sums up the tests of a platform.
type result struct {
	tiers        []string      // that were tested
	features     []string      // of CPUs, that some of the kernels need
	fma          string        // how package scalar computes it: "one instruction" or "emulated"
	tests, cases int           // that passed: top-level tests, and all tests including subtests
	skipped      []string      // top-level tests, each with the reason that it gave
	build, run   time.Duration // of the CPU
	times        []testTime    // of the top-level tests, and of packages in all
	log          []byte        // output of the package that failed
	err          error
}

// A testTime says how long a test took.
type testTime struct {
	pkg, test string
	took      time.Duration
}

var (
	resultLine = regexp.MustCompile(`(?m)^( *)--- (PASS|SKIP|FAIL): (\S+) \((\S+)\)`)
	tierLine   = regexp.MustCompile(`(?m)^attn: tier (\S+) is tested(?:, with kernels for (.*))?`)
	goLine     = regexp.MustCompile(`(?m)^attn: tier (\S+) runs (\S+) in Go`)
	fmaLine    = regexp.MustCompile(`(?m)^attn: .*, fma is (one instruction|emulated)`)
	reasonLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)
)

// read adds the output of the tests of a package.
func (r *result) read(out []byte, pkg *testedPackage) error {
	text := string(out)
	passed := map[string]bool{}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		m := resultLine.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[2] == "FAIL":
			return fmt.Errorf("%s failed", m[3])
		case m[2] == "SKIP":
			why := ""
			for j := i - 1; j >= 0 && why == "" && j > i-3; j-- {
				if s := reasonLine.FindStringSubmatch(lines[j]); s != nil {
					why = s[1]
				}
			}
			if m[1] == "" { // no subtest: these are skipped if a tier lacks a kernel
				r.skipped = append(r.skipped, m[3]+": "+cmp.Or(why, "no reason given"))
			}
		default:
			r.cases++
			passed[m[3]] = true
			if m[1] == "" {
				r.tests++
				took, _ := time.ParseDuration(m[4])
				r.times = append(r.times, testTime{pkg.path, m[3], took})
			}
		}
	}
	for _, name := range strings.Fields(pkg.must) {
		if !passed[name] {
			return fmt.Errorf("%s did not run", name)
		}
	}
	for _, m := range goLine.FindAllStringSubmatch(text, -1) {
		if pkg.asm != "" && regexp.MustCompile(pkg.asm).MatchString(m[2]) {
			return fmt.Errorf("tier %s runs %s in Go", m[1], m[2])
		}
	}
	for _, m := range tierLine.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(r.tiers, m[1]) { // several packages print them
			r.tiers = append(r.tiers, m[1])
		}
		r.features = append(r.features, strings.Fields(m[2])...)
	}
	if m := fmaLine.FindStringSubmatch(text); m != nil {
		r.fma = m[1]
	}
	return nil
}

// check returns an error if other tiers or another fma ran than the platform has, or no kernels for
// its feature.
func (r *result) check(p *platform) error {
	if got := strings.Join(r.tiers, " "); got != p.tiers {
		return fmt.Errorf("tested the tiers %q, want %q", got, p.tiers)
	}
	if p.feature != "" && !slices.Contains(r.features, p.feature) {
		return fmt.Errorf("tested kernels for %q, want some for %s", r.features, p.feature)
	}
	want := "emulated"
	if p.fused {
		want = "one instruction"
	}
	if r.fma != want {
		return fmt.Errorf("the fma of package scalar is %q, want %q", r.fma, want)
	}
	return nil
}

func (r *result) verdict() string {
	if r.err != nil {
		return "FAIL"
	}
	return "ok"
}

// table prints a row for each platform, and then the skipped tests.
func table(chosen []platform, results []result) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tGOOS/GOARCH\tCPU model\tunder\tbits\torder\ttiers that ran\tfma\ttests\tcases\tskipped\tbuild\trun")
	for i, p := range chosen {
		r := &results[i]
		order := "little"
		if p.big {
			order = "big"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", r.verdict(), p.target(), p.cpu, p.under(), p.bits, order,
			cmp.Or(strings.Join(r.tiers, " "), "-"), cmp.Or(r.fma, "-"), r.tests, r.cases, len(r.skipped), seconds(r.build), seconds(r.run))
	}
	w.Flush()
	for i, p := range chosen {
		for _, s := range results[i].skipped {
			fmt.Printf("skipped on %s, %s: %s\n", p.target(), p.cpu, s)
		}
	}
}

// printSlowest prints the n tests of a platform that took longest.
func (r *result) printSlowest(p *platform, n int) {
	slices.SortFunc(r.times, func(a, b testTime) int { return cmp.Compare(b.took, a.took) })
	for _, t := range r.times[:min(n, len(r.times))] {
		fmt.Printf("%s, %s: %.1f s  %s %s\n", p.target(), p.cpu, t.took.Seconds(), t.pkg, t.test)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

// tail returns the last n lines of a log, without those that say that a test starts or
// passed.
func tail(log []byte, n int) []byte {
	lines := bytes.SplitAfter(log, []byte("\n"))
	lines = slices.DeleteFunc(lines, func(line []byte) bool {
		line = bytes.TrimLeft(line, " ")
		return bytes.HasPrefix(line, []byte("=== ")) || bytes.HasPrefix(line, []byte("--- PASS"))
	})
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
