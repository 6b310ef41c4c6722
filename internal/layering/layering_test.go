// Package layering tests that packages import what ARCHITECTURE.md allows, that the modules of the
// tree import public packages of each other, and that documentation shows no internal names.
package layering

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the root module, and of all others.
const root = "../.."

// TestImports: the packages of the root module import exactly the packages that the
// table in ARCHITECTURE.md lists, and each one imports only packages in rows below its
// own.
func TestImports(t *testing.T) {
	rows, allowed := table(t)
	actual := imports(t)
	for pkg, got := range actual {
		want, ok := allowed[pkg]
		if !ok {
			t.Errorf("package %s is not in the table of ARCHITECTURE.md", pkg)
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("package %s imports %v, ARCHITECTURE.md says %v", pkg, got, want)
		}
		for _, below := range got {
			if slices.Index(rows, below) <= slices.Index(rows, pkg) {
				t.Errorf("package %s imports %s, which is not below it", pkg, below)
			}
		}
	}
	for pkg := range allowed {
		if _, ok := actual[pkg]; !ok {
			t.Errorf("ARCHITECTURE.md lists package %s, which does not exist", pkg)
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

// table returns the packages of the table in its order, and what each one imports.
func table(t *testing.T) (rows []string, allowed map[string][]string) {
	f, err := os.Open(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	quoted := regexp.MustCompile("`([^`]*)`")
	allowed = map[string][]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		cells := strings.Split(lines.Text(), "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		pkg := quoted.FindStringSubmatch(cells[1])[1]
		list := []string{}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			list = append(list, m[1])
		}
		slices.Sort(list)
		rows, allowed[pkg] = append(rows, pkg), list
	}
	if len(rows) == 0 {
		t.Fatal("ARCHITECTURE.md has no table of packages")
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
