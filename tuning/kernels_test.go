package tuning

import (
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestKernels: generic is Go, other tiers have products in assembly, and nobody is told of a kernel
// twice.
func TestKernels(t *testing.T) {
	for _, info := range kernel.Tiers() {
		if !info.Runs {
			t.Logf("NOT RUN: tier %s: %s", info.Name, info.Reason)
			continue
		}
		list, err := Kernels(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		seen, inGo := map[Kernel]bool{}, 0
		for _, k := range list {
			id := Kernel{Name: k.Name, Lanes: k.Lanes}
			if seen[id] {
				t.Errorf("%s: %+v twice", info.Name, id)
			}
			seen[id] = true
			if k.Origin == "Go" || k.Origin == "none" {
				inGo++
			} else if info.Name == "generic" {
				t.Errorf("generic: %+v", k)
			}
			if k.Name == "Products.Gemm" && (k.Origin == "Go") != (info.Name == "generic") {
				t.Errorf("%s: %+v", info.Name, k)
			}
		}
		t.Logf("tier %s: %d kernels, %d of them in Go", info.Name, len(list), inGo)
	}
	if _, err := Kernels("mmx"); err == nil || !strings.Contains(err.Error(), "mmx") {
		t.Errorf("tier mmx: %v", err)
	}
}
