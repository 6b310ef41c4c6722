package main

import (
	"slices"
	"testing"
)

// TestShared: the binaries of each platform are built, whichever platform of the same environment
// comes first.
func TestShared(t *testing.T) {
	b := &builder{chosen: platforms, packages: known}
	for i := range platforms {
		p := &platforms[i]
		for j := range platforms {
			first := &platforms[j]
			if (first.list != nil) != (p.list != nil) || !slices.Equal(first.env(), p.env()) {
				continue
			}
			for _, pkg := range p.tests(b.packages) {
				if !slices.Contains(b.shared(first), "./"+pkg.path) {
					t.Errorf("%s lacks %s if %s is first", p.cpu, pkg.path, first.cpu)
				}
			}
		}
	}
}
