package harness

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/gen/prove/machine"
)

// A Mutant is a kernel with a mistake in one instruction.
type Mutant struct {
	Kernel   *Kernel
	From, To string
	Found    string // how the mistake was found, "" if it was not
	Why      string // why it is none, as the kernel is proven with all sizes, or why nobody knows
	Sampled  bool   // it was not found, but of a lemma samples alone were tried: it may be one
}

// Mutate makes a mistake in an instruction that the quick cases of a kernel execute, and proves the
// kernel again, with all cases if the quick ones do not find it.
func (p *Prover) Mutate(a *Architecture, k *Kernel, seed uint64) *Mutant {
	r := rand.New(rand.NewPCG(seed, 1))
	quick := *p
	quick.Quick, quick.Settle = true, false
	old := quick.alone(a, k)
	if old.Verdict.closed() {
		return nil
	}
	file := a.Files[k.ISA]
	for range 100 {
		name, at := anyInstruction(r, file, old.covered)
		changed, ok := mutate(r, file.Functions[name].Insts[at])
		if !ok {
			continue
		}
		m := &Mutant{Kernel: k, From: file.Functions[name].Insts[at].String(), To: changed.Text}
		b := *a
		b.Files = maps.Clone(a.Files)
		b.Files[k.ISA] = file.With(name, at, changed)
		var v *Verdict
		var err error
		for _, q := range []*Prover{&quick, p} {
			v, err = q.settled(&b, k)
			if v.Open != "" {
				v.Err = v.Why
			}
			if v.Err != nil {
				m.Found, _, _ = strings.Cut(v.Err.Error(), "\n")
				return m
			}
		}
		switch m.Sampled = p.Sampled(v); {
		case !m.Sampled:
			m.Why = p.why(a, &b, k, name, at, v)
		case err != nil:
			m.Why = err.Error()
		}
		return m
	}
	return nil
}

// settled proves a kernel as alone does. With Settle it tries all values of lemmas, and proves it
// anew, another way, where one does not hold.
func (p *Prover) settled(a *Architecture, k *Kernel) (*Verdict, error) {
	for {
		v := p.alone(a, k).Verdict
		if v.closed() || !p.Settle {
			return v, nil
		}
		if refuted, err := p.Lemmas.Settle(v.Lemmas); !refuted {
			return v, err
		}
	}
}

// alone proves that a kernel equals its reference.
func (p *Prover) alone(a *Architecture, k *Kernel) *Proof {
	x := &Proof{Architecture: a, Kernel: k}
	p.prove(contractOf(k), x)
	return x
}

// why tells why a mistake in an instruction of b is none: v is what came out for b, with all sizes,
// and no lemma of it has samples alone.
func (p *Prover) why(a, b *Architecture, k *Kernel, name string, at int, v *Verdict) string {
	proven := fmt.Sprintf("proven equal in all %d cases: ", v.Cases)
	if old := p.alone(a, k).Verdict; old.Steps != v.Steps {
		return proven + fmt.Sprintf("it branches otherwise, %d instructions in the place of %d, and both ways leave the same", v.Steps, old.Steps)
	}
	none, _ := parsed(a.Files[k.ISA].Functions[name].Insts[at], "NOP")
	b.Files[k.ISA] = a.Files[k.ISA].With(name, at, none)
	if without := p.alone(b, k).Verdict; !without.closed() && !p.Sampled(without) {
		return proven + "no result depends on what the instruction computes, as in an address of a prefetch or a pointer behind the last element"
	}
	return proven + "the same instructions are executed, and the numbers that they compute with differ in nothing that a result depends on"
}

// anyInstruction chooses an instruction that was executed.
func anyInstruction(r *rand.Rand, f *machine.File, covered machine.Coverage) (name string, at int) {
	type place struct {
		name string
		at   int
	}
	var all []place
	for _, n := range slices.Sorted(maps.Keys(f.Functions)) {
		for i, in := range f.Functions[n].Insts {
			if covered.Executed[in.Line] {
				all = append(all, place{n, i})
			}
		}
	}
	p := all[r.IntN(len(all))]
	return p.name, p.at
}

// others are operations that take the place of one another.
var others = [][]string{{"VADDPS", "VSUBPS", "VMULPS"}, {"VMAXPS", "VMINPS"}, {"VFMADD231PS", "VFMADD213PS", "VFNMADD231PS"}, {"VUNPCKLPS", "VUNPCKHPS"},
	{"VUNPCKLPD", "VUNPCKHPD"}, {"VANDPS", "VORPS", "VXORPS"}, {"VPADDD", "VPSUBD"}, {"VPSLLD", "VPSRLD", "VPSRAD"}, {"ADDQ", "SUBQ"}, {"VFMLA", "VFMLS"},
	{"fadd", "fsub", "fmul"}, {"fmla", "fmls"}, {"VZIP1", "VZIP2"}, {"VTRN1", "VTRN2"}, {"VBIT", "VBIF"}, {"ADD", "SUB"}, {"VFADDVV", "VFSUBVV", "VFMULVV"},
	{"VFMACCVV", "VFMADDVV", "VFNMSACVV"}, {"VFMULVF", "VFADDVF"}, {"fcmgt", "fcmeq"}, {"VMFLTVV", "VMFGTVV"}}

// commutes are operations whose sources may change places.
var commutes = regexp.MustCompile(`^(VP?(ADD|MUL|AND|OR|XOR)[A-Z]*|VFN?M(ADD|SUB)231.*|VFMLA|VFMLS|fadd|fmul|fmla|VAND|VORR|VEOR|ADD|MUL|VFM.*VV|VPMADDWD)$`)

var numbers = regexp.MustCompile(`\d+`)

// mutate changes an operation, an operand, a number or an order.
func mutate(r *rand.Rand, in machine.Inst) (machine.Inst, bool) {
	text := in.Text
	if at := strings.Index(text, "// "); at >= 0 { // a word: its comment counts
		text = text[at+3:]
	}
	op, rest, _ := strings.Cut(text, " ")
	for _, no := range []string{"PREFETCH", "PRFM", "RET", "JMP", "B ", "VZEROUPPER"} {
		if strings.HasPrefix(text, no) {
			return in, false
		}
	}
	switch r.IntN(4) {
	case 0:
		for _, list := range others {
			if i := slices.Index(list, op); i >= 0 {
				return parsed(in, list[(i+1)%len(list)]+" "+rest)
			}
		}
		return in, false
	case 1: // the first two operands change places
		if len(in.Args) < 3 || commutes.MatchString(op) || in.Args[0].Kind == machine.Immediate || in.Args[0].Text == in.Args[1].Text {
			return in, false
		}
		args := make([]string, len(in.Args))
		for i, a := range in.Args {
			args[i] = a.Text
		}
		args[0], args[1] = args[1], args[0]
		return parsed(in, op+" "+strings.Join(args, ", "))
	}
	places := numbers.FindAllStringIndex(rest, -1)
	if len(places) == 0 || in.Target >= 0 {
		return in, false
	}
	at := places[r.IntN(len(places))]
	n, err := strconv.Atoi(rest[at[0]:at[1]])
	if err != nil || at[0] > 0 && strings.ContainsRune("x.BHSD", rune(rest[at[0]-1])) { // a part of a number, or how a vector is cut
		return in, false
	}
	return parsed(in, op+" "+rest[:at[0]]+fmt.Sprint(n+1+r.IntN(2))+rest[at[1]:])
}

func parsed(old machine.Inst, text string) (machine.Inst, bool) {
	in, err := machine.Parse(text)
	if err != nil {
		return old, false
	}
	in.Line, in.Target = old.Line, old.Target
	if old.Target >= 0 {
		in.Args = old.Args
	}
	return in, true
}
