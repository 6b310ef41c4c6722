package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/gen/prove/equal"
	"github.com/attn-go/attn/gen/prove/machine"
	"github.com/attn-go/attn/gen/prove/reference"
)

const root = "../../.."

func newProver(t *testing.T) *Prover {
	t.Helper()
	s, err := reference.Load(root, "./fallback", "./gen/prove/composed")
	if err != nil {
		t.Fatal(err)
	}
	return &Prover{Source: s, Lemmas: equal.NewLemmas(strings.NewReader("")), Quick: true}
}

func kernel(t *testing.T, goarch, function string) (*Architecture, *Kernel) {
	t.Helper()
	a, err := ReadArchitecture(root, goarch)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range a.Kernels {
		if k.Function == function {
			return a, k
		}
	}
	t.Fatalf("%s has no %s", goarch, function)
	return nil, nil
}

func proved(p *Prover, a *Architecture, k *Kernel) *Verdict {
	x := &Proof{Architecture: a, Kernel: k}
	p.Prove(x)
	return x.Verdict
}

// TestProofs proves a kernel of each architecture, and finds a mistake in each.
func TestProofs(t *testing.T) {
	p := newProver(t)
	for _, x := range []struct{ goarch, function, from, to string }{
		{"amd64", "gemm1AVX2", "VFMADD231PS", "VFMADD213PS"},
		{"amd64", "softmaxAVX2", "VSUBPS", "VADDPS"},
		{"amd64", "gemmMerge4AVX512", "VMULPS", "VADDPS"},
		{"amd64", "tileBF16AVX512", "TDPBF16PS", "TDPBSSD"},
		{"amd64", "weightGemmInt8TilesS4AVX512", "VPSUBB", "VPADDB"},
		{"arm64", "softmaxNEON", "fsub", "fadd"},
		{"arm64", "gemmMax2NEON", "fcmgt", "fcmeq"},
		{"riscv64", "softmaxRVV", "VFSUBVV", "VFADDVV"},
	} {
		a, k := kernel(t, x.goarch, x.function)
		if v := proved(p, a, k); v.Err != nil || v.Open != "" {
			t.Errorf("%v", v)
		}
		a.Files[k.ISA] = spoiled(t, a.Files[k.ISA], x.from, x.to)
		if v := proved(p, a, k); v.Err == nil {
			t.Errorf("%s with %s in the place of %s is still proven", x.function, x.to, x.from)
		}
	}
}

// TestGroup: kernels that share a reference have verdicts of their own, whichever comes first.
func TestGroup(t *testing.T) {
	p := newProver(t)
	var list []*Architecture
	for _, goarch := range []string{"amd64", "arm64"} {
		a, err := ReadArchitecture(root, goarch)
		if err != nil {
			t.Fatal(err)
		}
		a.Kernels = slices.DeleteFunc(a.Kernels, func(k *Kernel) bool { return k.Name() != "Weights.AddBias" })
		list = append(list, a)
	}
	list[1].Files["neon"] = spoiled(t, list[1].Files["neon"], "fadd", "fsub")
	for range 2 {
		groups := Group(list)
		if len(groups) != 1 || len(groups[0]) != 3 {
			t.Fatalf("%d groups", len(groups))
		}
		p.Prove(groups[0]...)
		for _, x := range groups[0] {
			if v := x.Verdict; (v.Err != nil) != (x.Kernel.ISA == "neon") || v.Cases == 0 {
				t.Errorf("%v", v)
			}
		}
		slices.Reverse(list)
	}
}

// spoiled replaces every instruction of a kind by another.
func spoiled(t *testing.T, f *machine.File, from, to string) *machine.File {
	t.Helper()
	for name, fn := range f.Functions {
		for i, in := range fn.Insts {
			if in.Op == from {
				in.Op = to
				f = f.With(name, i, in)
			}
		}
	}
	return f
}

// TestRules finds functions that break a rule which no result shows.
func TestRules(t *testing.T) {
	p := newProver(t)
	for _, x := range []struct{ function, from, to, want string }{
		{"exp2AVX2", "VZEROUPPER", "NOP", "returns without VZEROUPPER"},
		{"exp2AVX2", "(BX)(AX*1)", "4(BX)(AX*1)", "bytes"},
		{"exp2AVX2", "dst_base+0(FP)", "src_base+24(FP)", "writes to src"},
		{"exp2AVX2", "VSUBPS", "VHSUBPS", "no such instruction"},
		{"exp2AVX2", "dst_base+0(FP), DX", "dst_base+0(FP), BP", "writes BP"},
		{"exp2AVX2", "dst_base+0(FP), DX", "dst_base+0(FP), SP", "writes SP"},
		{"tileInt8AVX512", "// TILERELEASE", "// TILEZERO T0", "returns without TILERELEASE"},
		{"tileInt8AVX512", "// LDTILECFG", "// TILERELEASE", "has no shape"},
		{"tileInt8AVX512", "T2, T1, T0", "T2, T2, T0", "used twice"},
		{"tileInt8AVX512", "(DX)(AX*1), T2", "(DX)(AX*2), T2", "no distance of rows"},
	} {
		a, k := kernel(t, "amd64", x.function)
		b := *a
		b.Files = map[string]*machine.File{k.ISA: rewritten(t, a.Files[k.ISA], k.Function, x.from, x.to)}
		if v := proved(p, &b, k); v.Err == nil {
			t.Errorf("%s in the place of %s goes unnoticed", x.to, x.from)
		} else if !strings.Contains(v.Err.Error(), x.want) {
			t.Errorf("%s in the place of %s: %v, want %q", x.to, x.from, v.Err, x.want)
		}
	}
}

// rewritten replaces a text in all instructions of a function.
func rewritten(t *testing.T, f *machine.File, function, from, to string) *machine.File {
	t.Helper()
	for i, old := range f.Functions[function].Insts {
		if !strings.Contains(old.Text, from) {
			continue
		}
		in, err := machine.Parse(strings.ReplaceAll(old.Text, from, to))
		if err != nil {
			t.Fatal(err)
		}
		in.Line, in.Target = old.Line, old.Target
		f = f.With(function, i, in)
	}
	return f
}
