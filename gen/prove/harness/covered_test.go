package harness

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestUncovered: all calls of a kernel execute all its instructions, and repeat its loop. Without
// calls that leave less than a vector, the lines for such a rest are reported, and no others. With
// calls of one vector alone, the loop is.
func TestUncovered(t *testing.T) {
	p := newProver(t)
	a, k := kernel(t, "amd64", "exp2AVX2")
	told := func(unless func(length int) bool) []string {
		x := &Proof{Architecture: a, Kernel: k}
		p.prove(contract{cases: func(k *Kernel, quick bool) []Case {
			return slices.DeleteFunc(contractOf(k).cases(k, false), func(c Case) bool { return unless(c["dst"].(Buffer).Len) })
		}}, x)
		if x.Verdict.Err != nil {
			t.Fatal(x.Verdict)
		}
		groups := [][]*Proof{{x}}
		return append(Uncovered(groups), Once(groups)...)
	}
	for want, unless := range map[string]func(length int) bool{
		`^$`: func(int) bool { return false },
		`^exp2AVX2: no case executes \d+ of \d+ instructions, lines \d+-\d+$`: func(n int) bool { return n%8 != 0 },
		`^exp2AVX2: no case repeats the loop of line \d+: J.*$`:               func(n int) bool { return n >= 16 },
	} {
		if got := strings.Join(told(unless), "; "); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("told: %q, want %s", got, want)
		}
	}
}
