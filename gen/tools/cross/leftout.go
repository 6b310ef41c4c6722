package main

import (
	"fmt"
	"slices"
)

// fewer says how many calls of kernels are left out, "" for none.
func (pkg *testedPackage) fewer() string {
	if pkg.oneOf == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d calls of each kernel, which -deep makes", pkg.oneOf-1, pkg.oneOf)
}

// printLeftOut prints, below the table, patterns of the tests that the platforms leave out: first
// of those that no platform runs, then of those that some leave out.
func printLeftOut(chosen []platform, packages []testedPackage) {
	fmt.Println("\nleft out on all platforms, as it needs no emulated CPU or is long:")
	for _, pkg := range packages {
		switch {
		case pkg.only == nowhere:
			fmt.Printf("  %s: all\n", pkg.path)
		case pkg.skip != "":
			fmt.Printf("  %s: %s\n", pkg.path, pkg.skip)
		}
	}
	for _, p := range platforms {
		if !slices.ContainsFunc(chosen, func(c platform) bool { return c.target() == p.target() && c.cpu == p.cpu }) {
			fmt.Printf("not tested: %s, %s\n", p.target(), p.cpu)
		}
	}
	where, texts := map[string]string{}, []string{} // platforms that leave out the same share a paragraph
	for _, p := range chosen {
		text := p.leftOut(packages)
		if where[text] == "" {
			texts = append(texts, text)
		} else {
			where[text] += "; "
		}
		where[text] += p.target() + ", " + p.cpu
	}
	for _, text := range texts {
		if text != "" {
			fmt.Printf("left out on %s:\n%s", where[text], text)
		}
	}
}

// leftOut returns lines with what this platform leaves out beside what none runs.
func (p *platform) leftOut(packages []testedPackage) (text string) {
	line := func(path, what string) {
		if what != "" {
			text += fmt.Sprintf("  %s: %s\n", path, what)
		}
	}
	if p.list != nil {
		for _, pkg := range p.tests(packages) {
			line(pkg.path, pkg.fewer())
			line(pkg.path, "all but "+pkg.run)
			line(pkg.path, pkg.skip)
		}
		for _, pkg := range packages {
			listed := func(x testedPackage) bool { return x.path == pkg.path }
			if pkg.only != nowhere && !slices.ContainsFunc(p.list, listed) {
				line(pkg.path, "all")
			}
		}
		return text
	}
	line("all packages, by a fault of the emulator", p.skip)
	for _, pkg := range p.tests(packages) {
		line(pkg.path, pkg.fewer())
	}
	for _, pkg := range packages {
		switch {
		case pkg.only == "":
			line(pkg.path, pkg.leftOut(p))
		case pkg.only != nowhere && !pkg.runsOn(p):
			line(pkg.path, "all")
		case pkg.run != "" && pkg.only != nowhere:
			line(pkg.path, "all but "+pkg.run)
		}
	}
	return text
}
