package harness

import (
	"regexp"
	"slices"
	"testing"
)

// TestUncovered: all calls of a kernel execute all its instructions. Without the calls that leave
// less than a vector, the lines of that are told, and no others.
func TestUncovered(t *testing.T) {
	p := newProver(t)
	a, k := kernel(t, "amd64", "exp2AVX2")
	all := contractOf(k)
	whole := contract{cases: func(k *Kernel, quick bool) []Case {
		return slices.DeleteFunc(all.cases(k, false), func(c Case) bool { return c["dst"].(Buffer).Len%8 != 0 })
	}}
	uncovered := func(c contract) []string {
		x := &Proof{Architecture: a, Kernel: k}
		if p.prove(c, x); x.Verdict.Err != nil {
			t.Fatal(x.Verdict)
		}
		return Uncovered([][]*Proof{{x}})
	}
	if got := uncovered(contract{cases: func(k *Kernel, _ bool) []Case { return all.cases(k, false) }}); got != nil {
		t.Errorf("with all calls: %q", got)
	}
	got := uncovered(whole)
	want := regexp.MustCompile(`^exp2AVX2: no case executes \d+ of \d+ instructions, lines \d+-\d+$`)
	if len(got) != 1 || !want.MatchString(got[0]) {
		t.Errorf("with whole vectors: %q", got)
	}
}
