package main

import "fmt"

// printLeftOut prints, below the table, which tests the platforms leave out. Platforms that leave
// out the same ones share a paragraph.
func printLeftOut(chosen []platform, packages []testedPackage) {
	names, texts := map[string]string{}, []string{}
	for _, p := range chosen {
		text := p.leftOut(packages)
		if names[text] == "" {
			texts = append(texts, text)
		} else {
			names[text] += "; "
		}
		names[text] += p.target() + ", " + p.cpu
	}
	for _, text := range texts {
		fmt.Printf("\nleft out on %s:\n%s", names[text], text)
	}
	fmt.Println("\nelsewhere these run by make test, make v3, and on the emulated CPUs that do not leave them out")
}

// leftOut returns a line for each package of which the platform leaves out tests: patterns of
// their names.
func (p *platform) leftOut(packages []testedPackage) (text string) {
	if p.bochs {
		for _, pkg := range bochsTests {
			text += fmt.Sprintf("  %s: all but %s", pkg.path, pkg.run)
			if pkg.skip != "" {
				text += ", without " + pkg.skip
			}
			text += "\n"
		}
		return text
	}
	tests := map[string]testedPackage{}
	for _, pkg := range p.tests(packages) {
		tests[pkg.path] = pkg
	}
	for _, pkg := range packages {
		switch pkg, ok := tests[pkg.path]; {
		case !ok:
			text += fmt.Sprintf("  %s: all\n", pkg.path)
		case pkg.run != "":
			text += fmt.Sprintf("  %s: all but %s\n", pkg.path, pkg.run)
		case pkg.skip != "":
			text += fmt.Sprintf("  %s: %s\n", pkg.path, pkg.skip)
		}
	}
	return text
}
