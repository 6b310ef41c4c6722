package main

import (
	"slices"
	"strings"
	"testing"
)

// TestChoose: without -deep and without names, one platform of each kind is left; a machine with a
// tier makes fewer of its calls on the emulated CPU; a name chooses any platform.
func TestChoose(t *testing.T) {
	const avx512 = "fma avx2 f16c avx512dq avx512vl avx512_vnni"
	for _, x := range []struct {
		list  string
		deep  bool
		flags string
		cpus  []string // some of those that are chosen
		not   []string
		fewer []string // those that make fewer calls
	}{
		{"", false, "", []string{"cortex-a57", "max", "native", "Haswell", "Nehalem", "corei7_icelake_u", "rv64-v256"}, []string{"24Kf", "wazero", "rv64"}, []string{"corei7_icelake_u"}},
		{"", true, avx512, []string{"24Kf", "wazero", "rv64", "corei7_icelake_u"}, nil, nil},
		{"", false, "fma avx2 f16c", nil, nil, []string{"Haswell", "corei7_icelake_u"}},
		{"", false, avx512, nil, nil, []string{"Haswell", "corei7_icelake_u"}},
		{"mips,Haswell", false, avx512, []string{"24Kf", "Haswell"}, []string{"native", "5Kf"}, []string{"Haswell"}},
	} {
		chosen, err := choose(x.list, x.deep, x.flags)
		if err != nil {
			t.Fatal(err)
		}
		var cpus, fewer []string
		for i := range chosen {
			p := &chosen[i]
			cpus = append(cpus, p.cpu)
			for _, pkg := range p.tests(known) {
				if pkg.oneOf > 1 && !slices.Contains(fewer, p.cpu) {
					fewer = append(fewer, p.cpu)
				}
			}
		}
		for _, cpu := range x.cpus {
			if !slices.Contains(cpus, cpu) {
				t.Errorf("%+v: no %s", x, cpu)
			}
		}
		for _, cpu := range x.not {
			if slices.Contains(cpus, cpu) {
				t.Errorf("%+v: %s", x, cpu)
			}
		}
		slices.Sort(fewer)
		if !slices.Equal(fewer, x.fewer) {
			t.Errorf("%+v: fewer calls on %q", x, fewer)
		}
	}
	for _, deep := range []bool{false, true} {
		chosen, err := choose("s390x", deep, "")
		if err != nil || len(chosen) != 1 {
			t.Fatal(chosen, err)
		}
		for _, pkg := range chosen[0].tests(known) {
			if pkg.path == "kernel" && strings.Contains(pkg.skip, "TestBFloat16|") == deep {
				t.Errorf("deep %t: s390x skips %s", deep, pkg.skip)
			}
		}
	}
	if _, err := choose("z80", false, ""); err == nil {
		t.Error("z80 is known")
	}
	for _, p := range platforms {
		if p.oneOf != 0 {
			t.Errorf("%s: choose has changed the list", p.cpu)
		}
	}
}

// TestCPUFlags: this machine's flags are words of its first CPU.
func TestCPUFlags(t *testing.T) {
	if flags := cpuFlags(); flags != "" && !has(flags, "fpu") {
		t.Errorf("%.80q", flags)
	}
}
