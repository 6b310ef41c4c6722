// Package layering tests that packages import what the rules allow, that the modules of the tree
// import public packages of each other, and that documentation shows no internal names.
package layering

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the root module, and of all others.
const root = "../.."

// TestImports: the packages of the root module import exactly what rules say, and each one imports
// only packages in rows below its own.
func TestImports(t *testing.T) {
	rows, allowed := table()
	actual := imports(t)
	for pkg, got := range actual {
		want, ok := allowed[pkg]
		if !ok {
			t.Errorf("package %s is not in rules", pkg)
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("package %s imports %v, its rule says %v", pkg, got, want)
		}
		for _, below := range got {
			if slices.Index(rows, below) <= slices.Index(rows, pkg) {
				t.Errorf("package %s imports %s, which is not below it", pkg, below)
			}
		}
	}
	for pkg := range allowed {
		if _, ok := actual[pkg]; !ok {
			t.Errorf("rules list package %s, which does not exist", pkg)
		}
	}
}

// ofTests are the packages that hold what tests of several packages share: they count as tests.
var ofTests = []string{"internal/contracttest", "internal/testutil"}

// TestOfTests: only tests, and such packages, import packages of tests.
func TestOfTests(t *testing.T) {
	_, sources, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, s := range sources {
		for _, name := range s.imports {
			pkg, ours := strings.CutPrefix(name, "github.com/attn-go/attn/")
			if !ours || !slices.Contains(ofTests, pkg) {
				continue
			}
			used[pkg] = true
			if !s.isTest() && !slices.Contains(ofTests, path.Dir(s.name)) {
				t.Errorf("%s imports %s, which is for tests", s.name, pkg)
			}
		}
	}
	for _, pkg := range ofTests {
		if !used[pkg] {
			t.Errorf("no test imports %s", pkg)
		}
	}
}

// table returns the packages of rules in their order, and what each one imports.
func table() (rows []string, allowed map[string][]string) {
	allowed = map[string][]string{}
	for _, r := range rules {
		rows = append(rows, r.pkg)
		allowed[r.pkg] = slices.Sorted(slices.Values(strings.Fields(r.imports)))
	}
	return rows, allowed
}

// imports returns what the packages of the root module import of each other, their
// tests aside.
func imports(t *testing.T) map[string][]string {
	_, sources, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, s := range sources {
		if s.module.dir != "." || s.isTest() {
			continue
		}
		pkg := path.Dir(s.name)
		list := append([]string{}, all[pkg]...)
		for _, name := range s.imports {
			if ours, ok := strings.CutPrefix(name, s.module.path+"/"); ok && !slices.Contains(list, ours) {
				list = append(list, ours)
			}
		}
		slices.Sort(list)
		all[pkg] = list
	}
	return all
}
