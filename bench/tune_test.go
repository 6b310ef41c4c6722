package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/tier"
)

func TestTuneAndProfileFlags(t *testing.T) {
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"-tune", "-groups", "tiles,none"}, `unknown group "none"`},
		{[]string{"-tune", "-tiers", "mmx"}, `tier "mmx", want`},
		{[]string{"-tune", "-rounds", "0"}, "-rounds 0"},
		{[]string{"-tune", "now"}, `unexpected argument "now"`},
		{[]string{"-kernels", "-tiers", "mmx"}, `tier "mmx", want`},
		{[]string{"-kernels", "now"}, `unexpected argument "now"`},
	} {
		if code, _, text := runCommand(x.args...); code != exitUsage || !strings.Contains(text, x.want) {
			t.Errorf("%v: exit code %d, %s; want %d and %q", x.args, code, text, exitUsage, x.want)
		}
	}
	if code, text, _ := runCommand("-tune", "-h"); code != exitOK || !strings.Contains(text, "-rounds") {
		t.Errorf("-tune -h: exit code %d, %s", code, text)
	}
	if code, text, _ := runCommand("-kernels", "-tiers", "generic"); code != exitOK || !regexp.MustCompile(`tier generic: \d+ kernels, \d+ of them in Go\n(.*\n)*Skinny.QK +Go`).MatchString(text) {
		t.Errorf("-kernels: exit code %d, %s", code, text)
	}
	for i := range tier.Tiers {
		of := &tier.Tiers[i]
		if of.Lacks() != "" {
			continue
		}
		want := of.LowerRows > 0 && of.Lower() != nil
		if _, text, _ := runCommand("-kernels", "-tiers", of.Name); strings.Contains(text, "take those of tier ") != want {
			t.Errorf("-kernels of %s with LowerRows=%d: %s", of.Name, of.LowerRows, text)
		}
	}
}
