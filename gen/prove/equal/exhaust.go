package equal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/gen/prove/expr"
)

// flagsOfC make vectors of the loop over values. Optimizations that turn selections into branches,
// or move operations into one side of a branch, are off: a loop with branches has no vectors.
var flagsOfC = []string{"-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-w",
	"-fno-thread-jumps", "-fno-tree-sink", "-fno-tree-pre", "-fno-code-hoisting", "-fno-tree-phiprop"}

// Exhaust tries all values of a lemma of at most 32 bits, by a program in C that a compiler makes:
// Go takes hours for what that does in a minute, as it has no vectors. The program is compared with
// package expr on samples. The line for the record says which lemma was tried, for how many values,
// and the digest of its values.
func (l *Lemmas) Exhaust(x *Lemma) (line string, err error) {
	dir, err := os.MkdirTemp("", "lemma")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	p, err := expr.Compile(batch, x.Vars, x.Free, x.A, x.B)
	if err != nil {
		return "", err
	}
	conditions := make([]string, len(x.Vars))
	for i, d := range x.Domains {
		if d != nil {
			conditions[i] = d.InC
		}
	}
	source, binary := filepath.Join(dir, "lemma.c"), filepath.Join(dir, "lemma")
	if err := os.WriteFile(source, []byte(p.C(x.Vars, conditions, x.A, x.B, x.IsFloat)), 0o600); err != nil {
		return "", err
	}
	cc := exec.Command("cc", slices.Concat(flagsOfC, []string{"-o", binary, source})...)
	if text, err := cc.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cc, err, text)
	}
	if err := x.sameDigests(p, binary); err != nil {
		return "", err
	}
	wrong, first, digest, err := ran(binary, 0, 1<<x.Bits())
	switch {
	case err != nil:
		return "", err
	case wrong > 0 && x.exhaust(p, first, first+4096):
		return "", fmt.Errorf("lemma %s: C finds a difference at %#x that Go does not", x.Name, first)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if wrong > 0 {
		l.failed[x.Name] = fmt.Sprintf("%s, and %d values in all", x.against, wrong)
		return "", fmt.Errorf("lemma %s does not hold: %s", x.Name, l.failed[x.Name])
	}
	x.How = Recorded
	l.recorded[x.Name] = fmt.Sprintf("%d bits, digest %08x", x.Bits(), digest)
	return x.Name + " " + l.recorded[x.Name], nil
}

// Settle tries all values of lemmas that were compared with samples, if they have at most 32 bits.
// It reports whether one does not hold: a proof that needs it has to be made anew, another way.
func (l *Lemmas) Settle(names map[string]int) (refuted bool, err error) {
	for _, x := range l.All() {
		if names[x.Name] == 0 || !l.Sampled(x.Name) || x.Bits() > 32 {
			continue
		}
		if _, err := l.Exhaust(x); err != nil {
			return l.refuted(x.Name), err
		}
	}
	return false, nil
}

func (l *Lemmas) refuted(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[name] != ""
}

// ran runs a program on values from lo up to hi.
func ran(binary string, lo, hi uint64) (wrong, first uint64, digest uint32, err error) {
	out, err := exec.Command(binary, fmt.Sprint(lo), fmt.Sprint(hi)).Output()
	if err == nil {
		_, err = fmt.Sscan(string(out), &wrong, &first, &digest)
	}
	return wrong, first, digest, err
}

// sameDigests compares the program in C with package expr, on pieces of all values.
func (x *Lemma) sameDigests(p *expr.Program, binary string) error {
	r := rand.New(rand.NewPCG(x.A.Hash(), 7))
	for range 64 {
		lo := r.Uint64N(1<<x.Bits()) &^ (4*batch - 1)
		wrong, _, got, err := ran(binary, lo, lo+4*batch)
		if err != nil {
			return err
		}
		want := uint32(0)
		for at := lo; at < lo+4*batch; at += batch {
			x.exhaust(p, at, at+batch)
			for i, a := range p.Values(x.A) {
				v := uint32(a) ^ uint32(a>>32)
				if x.IsFloat && v<<1 > 0x7f800000<<1 {
					v = 0x7fc00000
				}
				want += (v ^ (uint32(at)+uint32(i))*0x9e3779b1) * 0x85ebca6b
			}
		}
		if got != want && wrong == 0 {
			return fmt.Errorf("lemma %s: C computes another function from %#x on", x.Name, lo)
		}
	}
	return nil
}
